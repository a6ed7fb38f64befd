"""What properties say of executions and updates, in the words of an author. Pure."""

import re

_ON = {
    "as-it-is": "",
    "quiet": "on small gradients",
    "loud": "on large gradients",
}
"""What the executions of a program by itself are, in words."""
_REGIME = "as-it-is|quiet|loud"
_UPDATE = re.compile(
    rf"\b(?:in )?(?:(?P<regime>{_REGIME}),? )update (?P<n>\d+)|\bin update (?P<alone>\d+)",
    re.IGNORECASE,
)
_COUNTED = re.compile(rf"(?P<count>\d+) (?P<regime>{_REGIME}) (?P<noun>windows?|updates?)")
_ALONE = re.compile(rf"\bin (?P<regime>{_REGIME})\b", re.IGNORECASE)
_OBJECTIVES = {
    " (as-computed)": "",
    " (sample-mean)": " (that of the mean over samples)",
    " (micro-batch-mean)": " (that of the mean over micro-batches)",
}
_FIRST = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)


def plainly(sentence: str) -> str:
    """``in loud, update 1`` is ``on large gradients, in its second update``."""
    for words, plain in _OBJECTIVES.items():
        sentence = sentence.replace(words, plain)
    sentence = _UPDATE.sub(_moment, sentence)
    sentence = _COUNTED.sub(_counted, sentence)
    return _ALONE.sub(_alone, sentence)


def _moment(found: re.Match[str]) -> str:
    regime = (found["regime"] or "as-it-is").lower()
    when = f"in its {_ordinal(int(found['n'] or found['alone']) + 1)} update"
    where = _ON[regime]
    return _as_begun(found[0], f"{where}, {when}" if where else when)


def _counted(found: re.Match[str]) -> str:
    where = _ON[found["regime"]]
    return f"{found['count']} {found['noun']}{f' {where}' if where else ''}"


def _alone(found: re.Match[str]) -> str:
    return _as_begun(found[0], _ON[found["regime"].lower()] or "as it stands")


def _as_begun(before: str, after: str) -> str:
    return after[0].upper() + after[1:] if before[0].isupper() else after


def _ordinal(n: int) -> str:
    if n <= len(_FIRST):
        return _FIRST[n - 1]
    ending = "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
