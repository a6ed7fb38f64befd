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
    """One way of saying something: patterns, and where they have to be found."""

    any: tuple[str, ...] = ()
    """Patterns of which ``at_least`` have to be found."""
    at_least: int = Field(default=1, ge=1)
    """How many different patterns of ``any`` have to be found."""
    all: tuple[str, ...] = ()
    """Patterns that all have to be found."""
    none: tuple[str, ...] = ()
    """Patterns none of which may be found in the same place."""
    within: Within = "sentence"
    """The place."""
    asserted: bool | None = None
    """Whether matches that are negated, quoted or called wrong are left out. By default they are
    for a ``must_not``, and count for a ``must``.
    """
    positive: tuple[str, ...] = Field(min_length=1)
    """Sample texts that it has to match."""
    negative: tuple[str, ...] = Field(min_length=1)
    """Sample texts that come close and that it must not match."""


class Patterns(Record):
    """How one criterion or excuse is recognised."""

    signals: tuple[Signal, ...] = Field(min_length=1)
    """Any one of them is enough."""
    unless: tuple[Signal, ...] = ()
    """If one of these is found anywhere in the answer, nothing counts as found."""


class Lexicon(Record):
    """All patterns of one scenario."""

    terms: dict[str, str] = Field(default_factory=dict)
    """Named fragments that patterns may use."""
    criteria: dict[str, Patterns] = Field(default_factory=dict)
    """By id of the criterion: what a ``must`` asks for, or the fault of a ``must_not``."""
    rationalizations: dict[str, Patterns] = Field(default_factory=dict)
    """By the excuse, as the scenario's table words it."""
