"""Schedules that reach their end before training does, or never."""

import math

from harness.domain.trace import ProbeTrace, Update
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import of_rank

ID = "scheduler-per-update"

NOTHING = 1e-6
"""Below this part of the highest learning rate so far, an update changes nothing."""

FEW = 4
"""With fewer updates than this, half of training is too short to judge."""

NOTICED = 0.1
"""Part of the highest learning rate by which it has to rise again: a few updates may be more than
were counted.
"""

LENGTHS = (
    ": total steps",
    ": steps per epoch",
    ": all batches",
    ": turns",
    ": warmup",
    ": interval",
)
"""How the note on a free name ends, where the harness gave it a number of steps."""


def spent(probe: ProbeTrace) -> Verdict | None:
    """A fail when the schedule's length and the number of updates do not agree."""
    return at_zero_by_half(probe) or comes_back(probe)


def at_zero_by_half(probe: ProbeTrace) -> Verdict | None:
    """A fail when the schedule, stepped with each update, brought the learning rate down to 0 in
    the first half of training, and it stayed there, or rose again past the schedule's end.
    """
    updates = [w.update for w in of_rank(probe, probe.ranks[0])] if probe.ranks else []
    end = came_to_nothing(updates)
    ended = probe.program.outcome in ("returned", "exited") and not probe.parts
    if end is None or not ended or len(updates) < FEW or 2 * end > len(updates):
        return None
    if guessed(probe):
        return None
    before, rest = updates[:end], updates[end:]
    if any(u.scheduler_steps != 1 for u in before):
        return None
    largest = max(rate_of(u) for u in before)
    if not math.isfinite(largest):
        return None  # it did not come from there by its length
    dead = all(rate_of(u) <= NOTHING * largest for u in rest)
    if not dead and any(u.scheduled_for is None or u.scheduled_for > end for u in before):
        return None  # one that is made to come back says no length
    then = "and stayed there" if dead else "and rose again"
    return failed(
        ID,
        f"In {probe.probe} the schedule brought the learning rate from {show(largest)} down to 0 "
        f"after {count(end, 'update')} of {len(updates)}, {then}: its length counts something "
        "else than all updates of the training. Give it the updates of a pass times the passes, and "
        "build it once.",
        number("updates until the rate was 0", end, probe.probe),
        number("updates", len(updates), probe.probe),
    )


def comes_back(probe: ProbeTrace) -> Verdict | None:
    """A fail when a schedule that falls to its end, stepped with each update, is over before training
    is, and the learning rate rises again.
    """
    updates = [w.update for w in of_rank(probe, probe.ranks[0])] if probe.ranks else []
    lengths = {u.scheduled_for for u in updates if u.scheduler_steps}
    ended = probe.program.outcome in ("returned", "exited") and not probe.parts
    length = lengths.pop() if ended and len(lengths) == 1 else None
    if length is None or not FEW <= length < len(updates) - 1 or guessed(probe):
        return None
    least, last = rate_of(updates[length]), rate_of(updates[-1])
    before = [rate_of(u) for u in updates[:length]]
    falls = least <= min(before) and last - least >= NOTICED * max(before)
    if not falls or any(u.scheduler_steps != 1 for u in updates[:length]):
        return None
    return failed(
        ID,
        f"In {probe.probe} the schedule is made for {length} steps, one an update, and {len(updates)} "
        f"updates were made: the learning rate fell to {show(least)} and then rose again, to "
        f"{show(last)}. Count the short last window of each pass in its length too.",
        number("length of the schedule", length, probe.probe),
        number("updates", len(updates), probe.probe),
    )


def guessed(probe: ProbeTrace) -> bool:
    """Whether the program left some length open, so that what the harness gave it need not be it."""
    return any(is_guessed(note) for note in probe.program.bound)


def is_guessed(note: str) -> bool:
    """Whether the harness chose the value of this free name, a number of steps or of passes."""
    name, _, role = note.partition(": ")
    return note.endswith(LENGTHS) or (role == "epochs" and "epoch" not in name.lower())


def came_to_nothing(updates: list[Update]) -> int | None:
    """How many updates came before the first one at a rate of 0; zeros at the start of a warm-up do
    not count. ``None`` if the rate never fell to 0.
    """
    largest = 0.0
    for index, update in enumerate(updates):
        rate = rate_of(update)
        if largest and rate <= NOTHING * largest:
            return index
        largest = max(largest, rate)
    return None


def rate_of(update: Update) -> float:
    """The largest learning rate of all groups."""
    return max(update.learning_rates, default=0.0)
