"""Schedules that tell no length, and whose rates show that it is the number of micro-batches."""

import math
from collections.abc import Callable

from harness.domain.trace import ProbeTrace
from harness.properties.evidence.spent_schedules import guessed, rate_of
from harness.properties.evidence.windows import of_rank

FITS = 1e-3
"""Part of the peak by which a rate may be off its curve."""

FEW = 3
"""With fewer rates from the peak on, many curves fit."""

SHAPES: tuple[Callable[[float], float], ...] = (
    lambda part: 0.5 * (1.0 + math.cos(math.pi * part)),
    lambda part: 1.0 - part,
)
"""A cosine and a straight line, from 1 down to 0, by the part of the way that is gone."""


def as_long_as_batches(probe: ProbeTrace) -> int | None:
    """The number of micro-batches, where the rates of successive updates lie on a curve that takes as
    many updates to its end, behind a warm-up or at once; ``None`` for any other rates.
    """
    ended = probe.program.outcome == "returned" and not probe.parts
    if not ended or not probe.ranks or guessed(probe):
        return None
    rates = [rate_of(w.update) for w in of_rank(probe, probe.ranks[0])]
    length = probe.ranks[0].batches_yielded
    peak = max(rates, default=0.0)
    top = rates.index(peak) if rates else 0
    down = [rate / peak for rate in rates[top:]] if peak > 0.0 else []
    if not FEW <= len(down) < length - top or down[-1] > 1.0 - FITS:
        return None
    fits = any(lies_on(shape, down, length - top) for shape in SHAPES)
    return length if fits else None


def lies_on(shape: Callable[[float], float], rates: list[float], length: int) -> bool:
    """Whether rates, relative to their peak, follow a shape that takes so many steps."""
    return all(abs(rate - shape(step / length)) <= FITS for step, rate in enumerate(rates))
