"""Whether a sentence says something itself, or negates it, quotes it, or ascribes it to others."""

import re

_REACH = 70  # characters before or after a match in which a negation still speaks of it

_NEGATED = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|without|avoid\w*|\w{2,6}n't|cannot|"
    r"(?:do|does|did|is|are|was|wo|ca|would|should|could|have|has|need)nt|"
    r"instead of|rather than|resist\w*|refrain\w*|hardly|rarely|against|stop|"
    r"refus\w+|unless|far from|nor|neither)\b",
    re.IGNORECASE,
)
# "not only X" and "no doubt X" say X; "do not hesitate to X" too.
_NO_NEGATION = re.compile(
    r"\b(?:not (?:only|just|merely)|no doubt|without (?:a )?doubt|(?:not|n't) hesitate|"
    r"why (?:not|don't)|(?:no need to|don't|do not|not to) (?:worry|panic)|no (?:worries|problem)|"
    r"nothing to lose|(?:not|n't) wait|(?:cannot|can't|won't) hurt|nothing wrong)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:won't|can't|cannot|doesn't|does not|do not|don't|will not|isn't|is not|never|would not|"
    r"wouldn't|changes nothing|no (?:effect|difference|help|good|use)|pointless|useless|futile|"
    r"(?:is|are|be|'s) (?:the )?(?:wrong|worse|unnecessary|needless|harmful)|"
    r"mistake|misses|defeats|over-?engineer\w*|overkill|superfluous|not worth|isn't worth|"
    r"(?:does|solves?|fixes|cures?|repairs?|gains?) (?:you )?nothing|hides the|"
    r"(?:only|merely|just) (?:hides?|masks?|postpones?|delays?|treats?|papers?)|"
    r"leaves? you (?:exposed|unprotected)|bad (?:deal|bargain)|"
    r"(?:buys|wins|saves) you (?:almost |next to )?(?:nothing|little))\b",
    re.IGNORECASE,
)
_ASCRIBED = re.compile(
    r"\b(?:you (?:might|may|could) (?:think|believe|say|argue|be tempted|feel|expect|assume|"
    r"conclude)|tempt(?:ed|ing|ation)|people (?:say|think|claim)|"
    r"some(?:one|body|times)? (?:say|claim|think|suggest|argue)\w*|"
    r"(?:some|someone|somebody|people|others|many|they) (?:will|would|might|may|could) (?:\w+ )?"
    r"(?:say|claim|tell|reply|argue|object|advise|suggest|insist|think)|understandable|"
    r"(?:often|sometimes) (?:said|claimed)|the (?:claim|argument|belief|myth|notion|worry|"
    r"temptation|excuse|intuition|objection)\b|sounds? (?:like|reasonable|plausible|thorough|safe)|"
    r"if you (?:insist|really|must)|myth|misconception|what if|"
    r"wrong (?:lever|way|direction|place|tool|fix|move|idea)|anti-?pattern|pitfall|bad idea|"
    r"(?<!i )(?<!we )would (?:only|merely|still|hide|mask|break)|last resort|symptom\w*|"
    r"not the (?:fix|answer|solution|way))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"[^"\n]{3,300}"')
_CLAUSE = re.compile(
    r"[;:]|\bbut\b|\bhowever\b|\band (?:then|you|the|it|that)\b|\bso\b|\bsince\b|\bbecause\b| - ",
    re.IGNORECASE,
)


def asserted(sentence: str, start: int, end: int) -> bool:
    """Whether a sentence itself asserts what stands from ``start`` to ``end`` (offsets in it): it is
    not negated, quoted or ascribed to others.
    """
    if sentence.rstrip().endswith("?") or _ASCRIBED.search(sentence):
        return False
    if any(q.start() <= start and end <= q.end() for q in _QUOTED.finditer(sentence)):
        return False
    before = _CLAUSE.split(sentence[max(0, start - _REACH) : start])[-1]
    after = _NO_NEGATION.sub("", _CLAUSE.split(sentence[end : end + _REACH])[0]).split(",")[0]
    said = _NO_NEGATION.sub("", f"{before} {sentence[start:end]}")
    return not _NEGATED.search(said) and not _TAKEN_BACK.search(after)
