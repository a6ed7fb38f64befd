"""Rates that are computed in the line of an update: one for each layer, or another one at every step."""

from collections.abc import Callable, Sequence

import numpy as np

from harness.oracle.facts import Array
from harness.oracle.hand_changes import CLOSE, GradientFactor, HandChange

FEWEST = 4
"""Updates from which on a curve is told from chance."""
CURVES: tuple[tuple[Callable[[Array], Array], float], ...] = (
    (lambda share: share, 1.0),
    (lambda share: np.arccos(np.clip(2.0 * share - 1.0, -1.0, 1.0)), 0.0),
    (np.log, 0.0),
    (lambda share: share**-2.0, 1.0),
)
"""What makes a line of a rate that falls evenly, along a cosine, by a factor, or as an inverse root; and
where the line is when the whole rate is used.
"""


def scheduled_rates(changes: Sequence[HandChange], base: set[float]) -> list[float] | None:
    """The rate of each change where all are multiples of their gradients that lie on one curve over
    the steps, or differ between parameters and never change; ``None`` where they do not.

    A clip, which shrinks large gradients more, is on no such curve. A curve has to begin with the
    whole of the rate: gradients that are divided in the same line begin lower. ``base``: rates that
    the program names.
    """
    found = [(at, change.plain()) for at, change in enumerate(changes) if change.is_finite]
    known = [(at, factor) for at, factor in found if factor is not None and factor.is_known]
    if len(known) < FEWEST or any(factor is None for _, factor in found):
        return None
    factors = [factor for _, factor in known]
    if all(factor.by_name for factor in factors):
        rate = _each_its_own(factors, base, changes[0])
        return None if rate is None else [rate] * len(changes)
    if len(base) != 1 or any(factor.by_name for factor in factors):
        return None
    (named,) = base
    steps, values = np.array([at for at, _ in known]), np.array([f.value for f in factors])
    noise = np.array([factor.noise for factor in factors]) / values.max()
    least, most = values.min(), values.max()
    if least <= 0.0 or most > named * (1.0 + CLOSE) + noise.max() * most:
        return None
    on_one = any(_is_line(c(values / named), start, steps, noise) for c, start in CURVES)
    return np.interp(range(len(changes)), steps, values).tolist() if on_one else None


def _each_its_own(
    factors: Sequence[GradientFactor], base: set[float], change: HandChange
) -> float | None:
    """The largest rate, where every parameter has a rate of its own. It is the one that is named; or
    no rate is, and each of them is at hand.
    """
    first = factors[0].by_name
    for factor in factors:
        if not factor.by_name.keys() <= first.keys() or not all(
            abs(share - first[name]) <= CLOSE * abs(share) for name, share in factor.by_name.items()
        ):
            return None
    largest = max(first.values())
    at_hand = {number for _, number in change.numbers}
    if any(_near(largest, rate) for rate in base):
        return largest
    each = all(any(_near(share, n) for n in at_hand) for share in first.values())
    return largest if each and not base else None


def _near(value: float, number: float) -> bool:
    return abs(value - number) <= CLOSE * abs(number)


def _is_line(values: Array, start: float, steps: Array, noise: Array) -> bool:
    """Whether they go on by the same amount in every step, and do go on, from a start at the first step
    or at the one before.
    """
    if not np.isfinite(values).all():
        return False
    slope, first = np.polyfit(steps, values, 1)
    size = np.abs(values).max()
    moves = abs(slope) * (len(values) - 1) > 10.0 * CLOSE * size
    away = np.abs(values - (first + slope * steps))
    begins = min(abs(first - start), abs(first - slope - start)) <= 2.0 * CLOSE * size
    return bool(moves and begins and (away <= CLOSE * size + noise).all())
