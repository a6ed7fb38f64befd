"""Words by which an answer takes back a block that it has just shown, or shows it to be replaced."""

import re

_TAKEN_BACK = re.compile(
    r"^\W*(?:"
    r"(?:(?:but|oh|no|actually|hmm+|hm|ah)\W+)*"
    r"(?:wait|hold on|hang on|oops|whoops)\s*(?:[,.!:;\u2014\u2013-]|$)"
    r"|(?:scratch|strike) that\b|on second thoughts?\b|my mistake\b|correction\s*[:.\u2014\u2013-]"
    r"|hmm+\W+(?:actually|no|that|this|wait|not)\b"
    r"|(?:sorry|apologies)\W+(?:that|this|the|I)\b"
    r"|(?:actually|no)\W+(?:no\b|wait\b|let me\b|I (?:made|got|mixed|put)\b"
    r"|(?:that|this|the above) (?:still|has|won't|doesn't|isn't (?!wrong|a problem))"
    r"|(?:that|this|the above)(?:'s| is) (?:not|still|wrong|too|backwards|broken|incorrect)\b)"
    r"|let me (?:fix|correct|redo|rewrite|reconsider|start over|try (?:that |this )?again)\b"
    r"|I (?:just )?(?:made|see) a (?:mistake|slip|bug|error)\b"
    r"|I (?:got|put|have|had) (?:that|this|it|the order) (?:wrong|backwards|the wrong way)\b"
    r"|(?:disregard|ignore|forget) (?:the|that|this|what)\b.{0,20}"
    r"\b(?:above|previous|block|code|snippet|loop|version|I (?:just )?wrote)\b"
    r"|(?:(?:that|this|the above|the code above|what I (?:just )?wrote)(?:'s| is| was))\s+"
    r"(?:still |actually |also |of course )?"
    r"(?:wrong|incorrect|broken|backwards|not (?:quite )?(?:right|correct))\b"
    r"(?! (?:if|when|for|unless|only|under|with|in|on)\b)"
    r")",
    re.IGNORECASE,
)
_FINE_AFTER_ALL = re.compile(
    r"\b(?:that(?:'s| is) (?:fine|right|correct)|it(?:'s| is) (?:fine|right|correct)|no change)\b",
    re.IGNORECASE,
)

_LINES = (
    r"(?:\s+(?:this|these|the|that|your|those|two|three|old|last|first|following|lines?|code|bit|part"
    r"|block|call|from))*"
)
_OLD = re.compile(
    rf"(?:^|[,:;\u2014\u2013-]|\b(?:so|then|now|just|simply|please|and|is|to))\s*"
    rf"(?:replace|change|swap|turn|instead of|find|go from|rather than){_LINES}\W*$",
    re.IGNORECASE,
)
_NEW = re.compile(
    r"^\W*(?:and )?(?:(?:replace (?:it|this|that|them)|change (?:it|this|that|them)|use|write)\s+)?"
    r"(?:with|by|to|into|for|write|use|becomes?)"
    r"(?:\s+(?:this|these|the|following|one|lines?|code|instead))*\W*$",
    re.IGNORECASE,
)


def takes_back(after: str) -> bool:
    """Whether the words that follow a block say that it is wrong: "Wait, that clips too early"."""
    return bool(_TAKEN_BACK.search(after)) and not _FINE_AFTER_ALL.search(after)


def replaced_by_the_next(lead: str, next_lead: str) -> bool:
    """Whether two blocks are old lines and new ones: "Replace", then "with"."""
    return bool(_OLD.search(lead)) and bool(_NEW.search(next_lead))
