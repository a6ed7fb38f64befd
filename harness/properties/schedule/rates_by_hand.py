"""Learning rates that a program sets itself, without a scheduler: what its updates consumed.

A curve that follows the length of the training in two probes, and is spent when that ends, counts
updates. One that is spent early counts something else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed, passed
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import of_rank, usual_size
from harness.properties.schedule.spent_schedules import FEW, NOTHING, is_guessed, rate_of

ID = "scheduler-per-update"

ALIKE = 0.1
"""Part of the peak by which two probes may differ at the same part of the training."""

SPENT = 1.4
"""Part of the peak that is left for the last update, times the updates: 1 for a straight line."""


@dataclass(frozen=True, slots=True)
class RateCurve:
    """The rates of one probe."""

    probe: ProbeTrace
    """Where."""
    rates: tuple[float, ...]
    """Update by update."""
    batches: tuple[int, ...]
    """Micro-batches that had been handed out by each."""
    window: int
    """Micro-batches of a window."""

    @property
    def top(self) -> int:
        """The first update at the largest rate."""
        return self.rates.index(max(self.rates))

    @property
    def dead_from(self) -> int | None:
        """The update from which on no rate is left."""
        left = [i for i, rate in enumerate(self.rates) if rate > NOTHING * max(self.rates)]
        return left[-1] + 1 if left and left[-1] + 1 < len(self.rates) else None


def by_hand(probes: Sequence[ProbeTrace]) -> Verdict | None:
    """What the rates of two probes of different lengths say; ``None`` where that is nothing."""
    curves = [curve for probe in probes if (curve := curve_of(probe)) is not None]
    curves.sort(key=lambda c: len(c.rates))
    if len(curves) != len(probes) or len({len(c.rates) for c in curves}) < 2:
        return None
    return spent_early(curves) or spent_at_the_end(curves)


def curve_of(probe: ProbeTrace) -> RateCurve | None:
    """The rates of a run to its end whose lengths are all its own; ``None`` for any other."""
    guessed = any(is_guessed(note) for note in probe.program.bound)
    if guessed or probe.program.outcome not in ("returned", "exited") or probe.parts:
        return None
    updates = [w.update for w in of_rank(probe, probe.ranks[0])]
    rates = tuple(rate_of(u) for u in updates)
    last = [max((m.after_batch or (-1, -1) for m in u.window), default=(-1, -1)) for u in updates]
    passes = max((turn + 1 for turn, _ in last), default=0)
    yielded = probe.ranks[0].batches_yielded
    if len(rates) < FEW or not all(rate >= 0.0 for rate in rates) or not max(rates):
        return None
    if passes < 1 or yielded % passes or min(last) < (0, 0):
        return None
    of_each = yielded // passes
    batches = tuple(turn * of_each + place + 1 for turn, place in last)
    return RateCurve(probe, rates, batches, usual_size(probe))


def spent_early(curves: Sequence[RateCurve]) -> Verdict | None:
    """A fail where no rate is left from the middle of each probe on, however long that is."""
    ends = [c.dead_from or 0 for c in curves]
    if not all(0 < 2 * e <= len(c.rates) for e, c in zip(ends, curves, strict=True)):
        return None
    if ends[0] == ends[-1]:
        return None  # a length that was written down
    end, curve = ends[-1], curves[-1]
    where = curve.probe.probe
    return failed(
        ID,
        f"In {where} the learning rate, set by hand, was 0 after {count(end, 'update')} of "
        f"{len(curve.rates)}, and stayed there: its progress counts something else than updates. "
        "Divide the updates made by the updates of the whole training.",
        number("updates until the rate was 0", end, where),
        number("updates", len(curve.rates), where),
    )


def spent_at_the_end(curves: Sequence[RateCurve]) -> Verdict | None:
    """A pass where each probe's rate falls to its end, by the same curve over its length."""
    first, last = curves[0], curves[-1]
    if not all(falls_to_the_end(c) for c in curves) or not alike(first, last):
        return None
    where = last.probe.probe
    return passed(
        ID,
        "The learning rates, set by hand, follow the number of updates: over "
        f"{len(first.rates)} and {len(last.rates)} they fall from {show(max(last.rates))} "
        f"to {show(last.rates[-1])}, and are spent when training ends.",
        number("updates", len(last.rates), where),
        number("learning rate of the last update", last.rates[-1], where),
    )


def falls_to_the_end(curve: RateCurve) -> bool:
    """Whether the rate rises to its peak in the first half at most, and falls from there on with each
    update of the second, until little is left.
    """
    rates, top = curve.rates, curve.top
    up = all(one <= other for one, other in pairwise(rates[: top + 1]))
    down = all(one >= other for one, other in pairwise(rates[top:]))
    half = max(top, len(rates) // 2 - 1)
    strictly = all(one > other for one, other in pairwise(rates[half:]))
    little = NOTHING < rates[-1] / rates[top] <= SPENT / len(rates)
    return 2 * top <= len(rates) and up and down and strictly and little


def alike(one: RateCurve, other: RateCurve) -> bool:
    """Whether both have the same rates at the same part of the training, behind their peaks."""
    return any(
        all(
            abs(rate - at(other, (i + ahead) / len(one.rates), ahead)) <= ALIKE * max(one.rates)
            for i, rate in enumerate(one.rates)
            if i > one.top
        )
        for ahead in (0.0, 0.5, 1.0)
    )


def at(curve: RateCurve, part: float, ahead: float) -> float:
    """The rate at a part of the training, between the two updates next to it."""
    place = min(max(part * len(curve.rates) - ahead, 0.0), len(curve.rates) - 1.0)
    low = math.floor(place)
    high = min(low + 1, len(curve.rates) - 1)
    return curve.rates[low] + (place - low) * (curve.rates[high] - curve.rates[low])
