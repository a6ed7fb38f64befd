"""Adam by hand: changes that follow from gradients by moments that are kept."""

from itertools import product

import numpy as np

from harness.oracle.facts import Array
from harness.oracle.gradient import norm
from harness.oracle.hand_changes import Change, joined

CLOSE = 2e-3
"""How far a change may be from Adam's, relative to it: roots of small numbers lose some digits."""
LARGEST_EPS = 1e-4
MOST = 6
"""Numbers that are tried for each of the two."""


def adam_rates(changes: list[Change]) -> list[float] | None:
    """The rate of each change if all of them are Adam's; ``None`` if they are not."""
    names = tuple(changes[0].after)
    alike = all(tuple(c.after) == names and c.gradients.keys() >= {*names} for c in changes)
    if not alike or not all(c.is_finite for c in changes):
        return None
    at_hand = sorted({n for _, n in changes[0].numbers if 0.0 < n < 1.0})
    decays = [n for n in at_hand if n >= 0.5][:MOST]
    smallest = [n for n in at_hand if n <= LARGEST_EPS][:MOST]
    gradients = [joined(c.gradients, names) for c in changes]
    moved = [joined(c.moved, names) for c in changes]
    noise = [c.noise(names) for c in changes]
    for one, two, eps in product(decays, decays, smallest):
        found = _rates(gradients, moved, noise, (one, two, eps))
        if found is not None and all(_at_hand(r, c) for r, c in zip(found, changes, strict=True)):
            return found
    return None


def _rates(
    gradients: list[Array], moved: list[Array], noise: list[float], how: tuple[float, float, float]
) -> list[float] | None:
    one, two, eps = how
    first, second = np.zeros_like(gradients[0]), np.zeros_like(gradients[0])
    found: list[float] = []
    for step, (gradient, change, lost) in enumerate(zip(gradients, moved, noise, strict=True), 1):
        first = one * first + (1 - one) * gradient
        second = two * second + (1 - two) * gradient**2
        towards = (first / (1 - one**step)) / (np.sqrt(second / (1 - two**step)) + eps)
        rate = float(change @ towards / ((towards @ towards) or 1.0))
        if rate <= 0.0 or norm(change - rate * towards) > CLOSE * norm(change) + lost:
            return None
        found.append(rate)
    return found


def _at_hand(rate: float, change: Change) -> bool:
    return any(abs(rate - number) <= CLOSE * number for _, number in change.numbers if number > 0.0)
