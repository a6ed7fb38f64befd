"""Words by which an answer takes back a block that it has just shown, or shows it to be replaced."""

import re

from harness.extraction.tongues import taken_back_in

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
    r"|(?:but |yet |though )?I (?:would(?: not|n't)|do(?: not|n't)|cannot|can't) "
    r"(?:recommend|advise|suggest|(?:use|do|take|choose|go (?:for|with)) (?:it|this|that)\b)"
    r"|(?:but )?I would(?: not|n't)\s*[:.,;\u2014\u2013-]"
    r"|which (?:\w+ ){0,2}?(?:throws? away|throws? \w+ .{0,30}away|wipes?|discards?|loses?|destroys?"
    r"|defeats?|breaks|is (?:still |also |of course |just as )?(?:wrong|worse|bad|too (?:early|late)))\b"
    r"(?!\s+(?:nothing|no|none)\b)"
    r"|(?:edit|update|erratum|ps)\W*\d*\W+.*?\b(?:pointed out|noticed|reali[sz]ed?|sorry|oops)\b.*?"
    r"\b(?:this|that|it|the above|I|the first)\b"
    r"|(?:edit|update|erratum|ps)\W*\d*\W+(?:this|that|it|the above|the first \w+) (?:is|was)\s+"
    r"(?:wrong|a mistake|incorrect|too (?:early|late))\b"
    r")",
    re.IGNORECASE,
)
_FINE_AFTER_ALL = re.compile(
    r"\b(?:that(?:'s| is) (?:fine|right|correct)|it(?:'s| is) (?:fine|right|correct)|no change)\b"
    r"|\b(?:is|does|reicht|stimmt|suffit|basta)\b[^.?]*?\b(?:that|this|it|das|so|ça|eso)\b"
    r"[^.?]*?(?:\b(?:enough|right|correct|work\w*|sufficient|all|safe|okay|ok|do)\b|(?<=das)|(?<=so)|(?<=ça))[^.?]*"
    r"\?\W*(?:yes|ja|oui|sí|it (?:is|does))\b",
    re.IGNORECASE,
)

_LINES = (
    r"(?:\s+(?:this|these|the|that|your|those|two|three|old|last|first|following|lines?|code|bit|part"
    r"|block|call|from))*"
)
_OLD = re.compile(
    rf"(?:^|[,:;\u2014\u2013-]|\b(?:so|then|now|just|simply|please|and|is|to))\s*"
    rf"(?:replace|change|swap|turn|instead of|find|go from|from|rather than){_LINES}\W*$"
    r"|[,;]\s*so\W*$",
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
    said = _TAKEN_BACK.search(after) or taken_back_in(after)
    return bool(said) and not _FINE_AFTER_ALL.search(after)


def replaced_by_the_next(lead: str, next_lead: str) -> bool:
    """Whether two blocks are old lines and new ones: "Replace", then "with"."""
    return bool(_OLD.search(lead)) and bool(_NEW.search(next_lead))
