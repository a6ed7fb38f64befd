"""Words by which an answer takes back a block that it has just shown, or shows it to be replaced."""

import re

_TAKEN_BACK = re.compile(
    r"^\W*(?:\w+\W+){0,2}?"
    r"(?:wait|hold on|hang on|oops|whoops|(?:scratch|strike) that|on second thoughts?|my mistake"
    r"|correction|sorry|apologies|moment|stopp?|halt|attendez|espera|aspetta|等等|更正)"
    r"\s*(?:[,.!:;\u2014\u2013-]|$)"
    r"|^\W*(?:(?:hmm+|actually|no)\W+){1,2}(?:no\b|(?:this|that|the above)(?:'s| is)?\s+"
    r"(?:still|not|wrong|too|backwards|broken|incorrect|doesn't|won't)\b)"
    r"|^\W*(?:edit|update)\W+\d*\W*.{0,60}?\b(?:pointed out|noticed|reali[sz]ed?|is wrong|was wrong)\b"
    r"|^\W*(?:but |yet |though )?I would(?: not|n't)\s*(?:recommend|advise|[:.,;\u2014\u2013-])"
    r"|^\W*(?:that|this|the above|what I wrote)(?:'s| is| was) (?:still |also )?"
    r"(?:wrong|incorrect|broken|backwards|not (?:quite )?(?:right|correct))\b"
    r"(?! (?:if|when|for|unless|only|under|with|in|on)\b)",
    re.IGNORECASE,
)
_FINE_AFTER_ALL = re.compile(
    r"\b(?:that|it)(?:'s| is) (?:fine|right|correct)|no change\b"
    r"|\?\W*(?:yes|ja|oui|sí|it (?:is|does))\b",
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
    return bool(_TAKEN_BACK.search(after)) and not _FINE_AFTER_ALL.search(after)


def replaced_by_the_next(lead: str, next_lead: str) -> bool:
    """Whether two blocks are old lines and new ones: "Replace", then "with"."""
    return bool(_OLD.search(lead)) and bool(_NEW.search(next_lead))
