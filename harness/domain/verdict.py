"""What one property says about a trace."""

from typing import Literal

from harness.domain.record import Record

Outcome = Literal["pass", "fail", "inconclusive"]
"""``inconclusive``: the probes could not show it either way. That never counts as wrong."""

Level = Literal["required", "guard", "advisory"]
"""What a verdict does to the grade of the code.

``required``: code is right only if it passes. ``guard``: a failure makes code wrong, and
inconclusive does not keep it from being right. ``advisory``: a failure is shown and does not count.
"""


class Number(Record):
    """One figure that a verdict rests on."""

    name: str
    """What it is, in words: ``norm of the consumed gradient``."""
    value: float
    """Its value."""
    where: str = ""
    """Where it was seen: ``loud, update 2``."""


class Verdict(Record):
    """One property's judgement, with its evidence."""

    property: str
    """Id of the property."""
    outcome: Outcome
    """Pass, fail or inconclusive."""
    sentence: str
    """What was seen, with numbers; on a fail, what a learner should change."""
    numbers: tuple[Number, ...] = ()
    """The figures behind the sentence."""
    explained_by: str | None = None
    """Id of the failing property that already accounts for this verdict."""
    level: Level = "required"
    """What it does to the grade."""
    allowed: str | None = None
    """Why a failure is let pass, where the scenario or the user allows it."""


def passed(name: str, sentence: str, *numbers: Number) -> Verdict:
    """The claim holds, and the sentence names the evidence."""
    return Verdict(property=name, outcome="pass", sentence=sentence, numbers=numbers)


def failed(name: str, sentence: str, *numbers: Number) -> Verdict:
    """The claim is violated, and the sentence says what to change."""
    return Verdict(property=name, outcome="fail", sentence=sentence, numbers=numbers)


def inconclusive(name: str, sentence: str, *numbers: Number) -> Verdict:
    """The probes could not show it; the sentence says what was missing."""
    return Verdict(property=name, outcome="inconclusive", sentence=sentence, numbers=numbers)
