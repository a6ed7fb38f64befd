"""Schedules that are made for all updates and move with the full windows alone. Where they tell no
length, it is read from their rates.
"""

import math
from collections.abc import Callable

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.windows import of_rank
from harness.properties.schedule.spent_schedules import guessed, rate_of

ID = "scheduler-per-update"

FITS = 1e-3
"""Part of the peak by which a rate may be off its curve."""

FEW = 3
"""With fewer rates from the peak on, many curves fit."""

SHAPES: tuple[Callable[[float], float], ...] = (
    lambda part: 0.5 * (1.0 + math.cos(math.pi * part)),
    lambda part: 1.0 - part,
)
"""A cosine and a straight line, from 1 down to 0, by the part of the way that is gone."""


def lies_on(shape: Callable[[float], float], rates: list[float], length: int) -> bool:
    """Whether rates, relative to their peak, follow a shape that takes so many steps."""
    return all(abs(rate - shape(step / length)) <= FITS for step, rate in enumerate(rates))


def leaves_rests_out(probe: ProbeTrace) -> Verdict | None:
    """A fail when a schedule as long as there are updates moves with every full window and with no
    short one.
    """
    updates = [u for u in probe.updates if u.window_size]
    rests = [u for u in updates if u.short]
    ended = probe.program.outcome in ("returned", "exited") and not probe.parts
    steps = {(u.short, u.scheduler_steps) for u in updates}
    if not ended or steps != {(False, 1), (True, 0)} or guessed(probe):
        return None
    lengths = {u.scheduled_for for u in updates if u.scheduler_steps}
    if lengths != {len(updates)} and not (lengths == {None} and falls_over_all(probe)):
        return None
    return failed(
        ID,
        f"In {probe.probe} the schedule is made for {len(updates)} steps, one for each update, and did "
        f"not move in {count(len(rests), 'update')} of short last windows: it is late from the first "
        "pass on and never ends. Step it after every optimizer.step(), or leave these out of its "
        "length.",
        number("length of the schedule", len(updates), probe.probe),
        number("short last windows without a step", len(rests), probe.probe),
    )


def falls_over_all(probe: ProbeTrace) -> bool:
    """Whether the rates, by the steps of the schedule, lie on a curve that ends after as many steps as
    there are updates, behind a warm-up or at once.
    """
    updates = [w.update for w in of_rank(probe, probe.ranks[0])] if probe.ranks else []
    rates: list[float] = []
    for before, update in zip([None, *updates], updates, strict=False):
        if before is None or before.scheduler_steps:
            rates.append(rate_of(update))
    peak = max(rates, default=0.0)
    top = rates.index(peak) if rates else 0
    down = [rate / peak for rate in rates[top:]] if peak > 0.0 else []
    if len(down) < FEW or down[-1] > 1.0 - FITS:
        return False
    return any(lies_on(shape, down, len(updates) - top) for shape in SHAPES)
