"""Whether an answer meets the lines of a rubric, and who says so."""

from typing import Literal

from harness.domain.record import Record

State = Literal["met", "not_met", "unassessed"]
"""``met`` is always the good state: a ``must`` that is done, or a ``must_not`` that is avoided."""

UNREAD = "only a reader of the text can tell: give --judge"
"""Why a criterion is unassessed where no judge was asked for."""


class Votes(Record):
    """How several readings of one answer agree."""

    agreeing: int
    """Readings that say what the assessment says."""
    cast: int
    """Readings in all."""


class Assessment(Record):
    """What a reader of the text says about one criterion."""

    state: State
    """Met, not met, or not assessed."""
    quote: str | None = None
    """What was found, word for word; ``None`` where nothing was found."""
    votes: Votes | None = None
    """Agreement, where the answer was read more than once."""
    reason: str = ""
    """Why it is not assessed; empty when it is."""


class CriterionState(Record, extra="ignore"):  # runs of earlier days say more
    """Whether one line of the rubric is met, by everything that execution and text show."""

    state: State
    """``met`` is always the good state: a ``must`` that is done, or a ``must_not`` that is avoided."""
    polarity: Literal["must", "must_not"]
    """Whether the answer has to do it or to avoid it."""
    quote: str | None = None
    """What was found, word for word; ``None`` where nothing was found or nothing was read."""
    decided_by: Literal["execution", "text"] | None = None
    """What decided it; ``None`` when it is not assessed."""
    weight: Literal["normal", "bonus"] = "normal"
    """A bonus counts when met and costs nothing when not."""
    votes: Votes | None = None
    """How the readings agree, where the answer was read more than once."""
    reason: str = ""
    """Why it is not assessed; empty when it is."""


class Rationalized(Record):
    """An excuse of the scenario's table that a judge found in an answer."""

    excuse: str
    """The excuse, as the table words it."""
    instead: str
    """What the table says to answer."""
    quote: str
    """Where it was found, word for word."""
