"""The marks by which authors of skills judge their code, and nothing else that looks like one."""

import re
from typing import Literal

from harness.domain.skill import Mark, Polarity

MarkPlace = Literal["comment", "sentence", "heading"]

_SIGNS: dict[str, Polarity] = {
    "❌": "wrong", "✗": "wrong", "✘": "wrong", "🚫": "wrong", "⛔": "wrong", "🚨": "wrong",
    "✅": "right", "✔": "right", "✓": "right",
}  # fmt: skip

_WORDS: dict[str, Polarity] = {
    "wrong": "wrong", "bad": "wrong", "incorrect": "wrong", "broken": "wrong", "buggy": "wrong",
    "avoid": "wrong", "don't": "wrong", "do not": "wrong", "unstable": "wrong", "never": "wrong",
    "common mistake": "wrong", "common mistakes": "wrong", "red flag": "wrong", "pitfall": "wrong",
    "anti-pattern": "wrong", "antipattern": "wrong", "mistake": "wrong", "bug": "wrong",
    "right": "right", "good": "right", "correct": "right", "do": "right", "stable": "right",
    "correct order": "right", "correct implementation": "right", "recommended": "right",
    "fixed": "right", "fix": "right",
    "prefer": "better", "preferred": "better", "better": "better", "improved": "better",
    "suboptimal": "suboptimal", "inefficient": "suboptimal", "wasteful": "suboptimal",
    "slow": "suboptimal", "worse": "suboptimal",
}  # fmt: skip

# A mark opens what it judges: "# WRONG: ...", "**RIGHT:**", "BAD - ...". "Better weights" does not.
_OPENING = re.compile(
    r"^\W*(?P<word>"
    + "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
    + r")(?=\s*(?:[:(\u2013\u2014]|-\s|--|$|\*\*))",
    re.IGNORECASE,
)
# In capitals the word may stand alone before more of the sentence: "WRONG order of calls".
_CAPITALS = re.compile(
    r"^\W*(?P<word>WRONG|RIGHT|BAD|GOOD|CORRECT|INCORRECT|AVOID|PREFER|BETTER|SUBOPTIMAL)\b"
)
# Inside headings and sentences the judged thing comes first: "Correct implementation", "mistakes -
# WRONG ORDER". Broad words ("complete", "best practices", "solutions") claim no more than that what
# follows can be used, which is asked of every block.
_WITHIN = {
    "wrong": re.compile(
        r"\bWRONG\b|(?i:\bcommon\b.*\bmistakes?\b)"
        r"|\b[Tt]his does(?: not|n't) work(?! (?:with|in|on|for|under|if|when|unless)\b)"
        r"|\b[Ii]t (?:does(?: not|n't) work any ?more|no longer works)\b"
    ),
    "right": re.compile(r"^\W*(?:the )?correct\b|^\W*RIGHT\b", re.IGNORECASE),
}
_WARNS = re.compile(
    r"\b(?:mistakes?|pitfalls?|anti-?patterns?|bugs?|buggy|broken|wrong|incorrect|problems?|issues?"
    r"|bad(?! (?:batch|sample|row|gradient|value|step))"
    r"|symptoms?|gotchas?|avoid|(?<!that )(?<!which )do(?:n'?t| not)|red flags?"
    r"|fails?|failing|failure|errors?|raises?"
    r"|crash(?:es)?|(?:does|will|would) not work|(?:does|wo)n't work|leaks?|diverges?|explodes?"
    r"|naive|rationali[sz]ations?|slow|inefficient|OOM"
    r"|NaN|instead of|not recommended|demonstrat\w+|reproduc\w+ the"
    r"|review (?:this|my|the following))\b|[❌✗✘🚫⛔🚨⚠]",
    re.IGNORECASE,
)


_BEFORE = re.compile(r"(?<!as )(?<!than )\bbefore\W*$|^\W*before\s*[:(]", re.IGNORECASE)
_SUBJECTS = re.compile(
    r"\b(?:NaN|slow|inefficient|OOM|leaks?|instead of|explodes?|diverges?)\b", re.IGNORECASE
)
_ASSURES = re.compile(
    r"\b(?:never|not|no longer|without|doesn'?t|don'?t|won'?t|cannot|no)\s+(?:\w+\s+)?"
    r"(?:raises?|raising|fails?|failing|errors?|crash(?:es)?|problems?|issues?|leaks?)\b",
    re.IGNORECASE,
)
"""Words that promise that nothing goes wrong."""


_IN_A_CASE = re.compile(r"(?:^|(?<=[.!] ))If\b[^.!]*[.!]\s+(?=\S)")
"""A sentence before the last that says of what happens in one case: it tells of no block."""


def warns(text: str) -> bool:
    """Whether words around a block may mean that it shows something that goes wrong. That is no claim;
    but what is found in such a block is nothing that its author did not know.
    """
    told = _ASSURES.sub("", _IN_A_CASE.sub("", text))
    return _WARNS.search(told) is not None or _BEFORE.search(told) is not None


def expects_failure(text: str) -> bool:
    """Whether words may mean more than the subject of what they are about: ``NaN`` or ``slow`` alone
    announce no assertion that fails.
    """
    return warns(_SUBJECTS.sub("", text))


def comment_mark(text: str, line: int) -> Mark | None:
    """What a comment that stands by itself says, ``text`` without the leading ``#``."""
    return _opening(text, "comment", line)


def trailing_mark(text: str, line: int) -> Mark | None:
    """What a comment behind code says: only signs count, words there speak of the line."""
    for sign, polarity in _SIGNS.items():
        if text.strip().startswith(sign):
            return Mark(polarity=polarity, word=sign, place="comment", text=text.strip(), line=line)
    return None


def sentence_mark(text: str, line: int) -> Mark | None:
    """What the sentence before a block says about it."""
    return _opening(text, "sentence", line) or _within(text, "sentence", line)


def heading_mark(text: str, line: int) -> Mark | None:
    """What a heading says about the blocks below it."""
    return _opening(text, "heading", line) or _within(text, "heading", line)


def _opening(text: str, place: MarkPlace, line: int) -> Mark | None:
    stripped = text.strip().lstrip("*_# ").strip()
    for sign, polarity in _SIGNS.items():
        if stripped.startswith(sign):
            return Mark(polarity=polarity, word=sign, place=place, text=text.strip(), line=line)
    found = _CAPITALS.match(stripped) or _OPENING.match(stripped)
    if found is None:
        return None
    word = found["word"]
    return Mark(polarity=_WORDS[word.lower()], word=word, place=place, text=text.strip(), line=line)


def _within(text: str, place: MarkPlace, line: int) -> Mark | None:
    for polarity, pattern in _WITHIN.items():
        if found := pattern.search(text):
            return Mark(
                polarity="wrong" if polarity == "wrong" else "right",
                word=found.group(0).strip(), place=place, text=text.strip(), line=line,
            )  # fmt: skip
    return None
