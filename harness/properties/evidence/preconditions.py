"""When a property judges that nobody required: its preconditions, found in what a program did.

Each says what a failure does then. ``guard``: it makes the code wrong. ``advisory``: it is shown and
flips nothing, as a choice that a program may make. ``None``: the trace holds nothing to judge.
"""

from collections.abc import Callable
from typing import Literal

from harness.domain.scenario import Expectations
from harness.properties.evidence.settings import ProgramSettings
from harness.properties.evidence.thresholds import bounds_of

Weight = Literal["guard", "advisory"] | None
"""What a failure does where the scenario does not require the property."""

Precondition = Callable[[ProgramSettings, Expectations], Weight]
"""What a program set out to do, and what was asked of it, decide whether a property speaks of it."""


def never(_settings: ProgramSettings, _expects: Expectations) -> Weight:
    """Only where a scenario requires it: nothing that a program does makes it meant."""
    return None


def always(_settings: ProgramSettings, _expects: Expectations) -> Weight:
    """In every program."""
    return "guard"


def trains(_settings: ProgramSettings, expects: Expectations) -> Weight:
    """In every program that is no mere measurement."""
    return None if expects.measures else "guard"


def has_to_learn(_settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where the scenario says how far the loss falls in a right loop."""
    return "guard" if expects.loss_falls_to is not None else None


def updates(settings: ProgramSettings, _expects: Expectations) -> Weight:
    """Where an update was made."""
    return "guard" if settings.updates else None


def accumulates(settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where several micro-batches go into one update, or were meant to."""
    return "guard" if settings.gathers > 1 or expects.accumulates else None


def each_batch_an_update(settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where no accumulation was asked for, so that each batch is an update of its own, and the loss was
    given: one of the program's own may have any factor.
    """
    own = "as-computed" in expects.objectives
    return "guard" if settings.updates and not expects.accumulates and not own else None


def clips(settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where a norm is bounded, or was to be: without either, nobody misses a clip. Where each part has a
    bound of its own, nothing is asked of the norm of the whole.
    """
    if expects.groups and all(g.bounded_by is not None for g in expects.groups.values()):
        return None
    return "guard" if settings.clips or bounds_of(expects) is not None else None


def bounds_a_group(_settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where a part of the model was to be bounded by itself."""
    bounded = any(group.bounded_by is not None for group in expects.groups.values())
    return "guard" if bounded else None


def keeps_a_group(_settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where a part of the model was to keep its gradient whatever the others do."""
    return "guard" if expects.groups else None


def scaled(settings: ProgramSettings, _expects: Expectations) -> Weight:
    """Where an enabled GradScaler was called."""
    return "guard" if settings.scaled else None


def made_to_overflow(_settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where a probe makes a scaled gradient overflow."""
    return "guard" if expects.overflow_probe is not None else None


def scheduled(settings: ProgramSettings, _expects: Expectations) -> Weight:
    """Where learning rates move."""
    return "guard" if settings.scheduled else None


def warms_up(settings: ProgramSettings, _expects: Expectations) -> Weight:
    """Where learning rates move, and only to be shown: that the first one is 0 is common, and may be
    meant.
    """
    return "advisory" if settings.scheduled else None


def several_ranks(settings: ProgramSettings, _expects: Expectations) -> Weight:
    """Where several ranks train together."""
    return "guard" if settings.ranks > 1 else None


def communicates(settings: ProgramSettings, _expects: Expectations) -> Weight:
    """Where several ranks train together, and only to be shown: a further round of synchronisation costs
    time and no truth.
    """
    return "advisory" if settings.ranks > 1 else None


def loses_batches(settings: ProgramSettings, _expects: Expectations) -> Weight:
    """In every program, and only to be shown: that a short last window is dropped is a choice. That one
    of two networks never learns from what it was run on is none, and makes code wrong.
    """
    return "guard" if settings.apart else "advisory"


def must_not_change(_settings: ProgramSettings, expects: Expectations) -> Weight:
    """Where the scenario names a probe in which nothing may change."""
    return "guard" if expects.stable_probe or expects.healthy_probe else None
