"""Patterns by which a criterion is recognised in an answer's words, as data of a scenario.

How a pattern is written is said in ``docs/rubric.md``.
"""

from typing import Literal

from pydantic import Field

from harness.domain.record import Record

Within = Literal["sentence", "passage", "text", "code"]
"""Where all parts of a signal have to be found.

``sentence``: one sentence, list item, table row or comment in the code. ``passage``: three in a row.
``text``: anywhere in the prose. ``code``: anywhere in the code blocks.
"""


class Signal(Record):
    """One way of saying something."""

    any: tuple[str, ...] = ()
    """Patterns of which ``at_least`` have to be found."""
    at_least: int = Field(default=1, ge=1)
    """How many different ones of ``any``."""
    all: tuple[str, ...] = ()
    """Patterns that all have to be found."""
    none: tuple[str, ...] = ()
    """Patterns of which none may be found in the same place."""
    within: Within = "sentence"
    """The place."""
    asserted: bool | None = None
    """Whether what is negated, quoted or called wrong does not count. By default so for what an
    answer must not say, and not so for what it must.
    """
    positive: tuple[str, ...] = Field(min_length=1)
    """Texts in which it is found."""
    negative: tuple[str, ...] = Field(min_length=1)
    """Texts that come close and in which it is not found."""


class Patterns(Record):
    """How one thing is recognised."""

    signals: tuple[Signal, ...] = Field(min_length=1)
    """Any one of them is enough."""
    unless: tuple[Signal, ...] = ()
    """One of these anywhere in the answer, and it does not count."""


class Lexicon(Record):
    """All patterns of one scenario."""

    terms: dict[str, str] = Field(default_factory=dict)
    """Fragments that patterns use by name."""
    criteria: dict[str, Patterns] = Field(default_factory=dict)
    """By id of the criterion: what a ``must`` says, or the fault of a ``must_not``."""
    rationalizations: dict[str, Patterns] = Field(default_factory=dict)
    """By the excuse, as the scenario's table words it."""
