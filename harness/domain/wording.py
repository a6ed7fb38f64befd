"""Executions and updates in plain words, for every output that people read. Pure."""

import re

_ON = {
    "as-it-is": "",
    "quiet": "on small gradients",
    "loud": "on large gradients",
    "graded": "on gradients of all sizes",
    "spoiled": "with one bad batch",
    "spoiled gradients": "with infinite gradients of one batch",
    "many-passes": "in many short passes",
}
"""What the executions are that every program may have, in words. Others are called by their names."""
_KNOWN = "|".join(_ON)
_UPDATE = re.compile(
    rf"\b(?:(?:in )?(?P<known>{_KNOWN}),? update (?P<n>\d+)"
    r"|in (?P<other>[a-z][\w-]*), update (?P<m>\d+)|in update (?P<alone>\d+))(?:, rank (?P<rank>\d+))?",
    re.IGNORECASE,
)
_COUNTED = re.compile(rf"(?P<count>\d+) (?P<known>{_KNOWN}) (?P<noun>windows?|updates?)")
_ALONE = re.compile(rf"\bin (?P<known>{_KNOWN})\b", re.IGNORECASE)
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


def placed(where: str) -> str:
    """The place of a figure: ``loud, update 2`` is ``on large gradients, in its third update``."""
    execution, _, rest = where.partition(", ")
    if not where or rest.startswith("update "):
        return plainly(f"in {where}") if where else ""
    return ", ".join(filter(None, (_execution(execution) or "as it stands", rest)))


def _execution(name: str) -> str:
    return _ON.get(name.lower(), f'in the execution "{name}"')


def _moment(found: re.Match[str]) -> str:
    where = _execution(found["known"] or found["other"] or "as-it-is")
    when = f"in its {_ordinal(int(found['n'] or found['m'] or found['alone']) + 1)} update"
    when += f" on rank {found['rank']}" if found["rank"] else ""
    return _as_begun(found[0], f"{where}, {when}" if where else when)


def _counted(found: re.Match[str]) -> str:
    where = _ON[found["known"]]
    return f"{found['count']} {found['noun']}{f' {where}' if where else ''}"


def _alone(found: re.Match[str]) -> str:
    return _as_begun(found[0], _execution(found["known"]) or "as it stands")


def _as_begun(before: str, after: str) -> str:
    return after[0].upper() + after[1:] if before[0].isupper() else after


def _ordinal(n: int) -> str:
    if n <= len(_FIRST):
        return _FIRST[n - 1]
    ending = "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
