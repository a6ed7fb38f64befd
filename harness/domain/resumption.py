"""A run that was saved, and the run that took it up again: what was in force when an optimizer stepped.

Facts of the jail, which a property compares; no property asks for them but ``resume-goes-on``.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from harness.domain.record import Record

Name = Annotated[str, StringConstraints(max_length=200)]
"""What a program calls something."""

Counted = Annotated[int, Field(ge=0, lt=1 << 53)]
"""How many."""

Whole = Annotated[int, Field(gt=-(1 << 53), lt=1 << 53)]
"""A number that it counts with."""

MOST = 400
"""Steps of one run that are told."""


class Held(Record):
    """An optimizer with what it holds, at one moment."""

    optimizer: Counted
    """Which, by the order of first steps."""
    kind: Name
    """Its class."""
    elements: Counted
    """Numbers in the parameters that it holds."""
    remembers: Counted
    """Of how many parameters it has a memory that is not all zeros."""
    weights: float
    """Sum of the absolute values of its parameters."""
    schedule: Name = ""
    """Class of the schedule that was made for it last; empty where none was."""
    moves: Whole | None = None
    """How often that schedule says that it was stepped."""


class StepTaken(Record):
    """An optimizer that is about to step."""

    optimizer: Counted
    """Which, by the order of first steps."""
    rates: tuple[float, ...] = Field(max_length=64)
    """The learning rate of each of its groups, up to 64."""
    with_gradient: Counted
    """How many of its parameters have a gradient."""
    held: Held | None = None
    """All of it; told of an optimizer's first step alone."""
    numbers: dict[Name, Whole] = Field(default_factory=dict, max_length=200)
    """Whole numbers of the program's own, by name: what its loops count by is among them."""


class Resumption(Record):
    """A run that was saved, and a run that took it up."""

    before: tuple[StepTaken, ...] = Field(max_length=MOST)
    """Steps of the run that was saved; those that came after it was are what would have gone on."""
    saved: Counted
    """How many of them came before it was saved."""
    at_save: tuple[Held, ...] = Field(max_length=16)
    """Its optimizers when it was saved."""
    after: tuple[StepTaken, ...] = Field(max_length=MOST)
    """Steps after a run took it up."""
    in_itself: bool = False
    """Whether the same run took it up."""
    places: tuple[Whole, ...] = Field(default=(), max_length=64)
    """Whole numbers in the file that was saved."""
    has_memory: bool = False
    """Whether the state of an optimizer is in that file."""
