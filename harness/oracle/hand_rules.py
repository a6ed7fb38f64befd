"""Optimizers by hand: changes that follow from gradients by what is kept of those before."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from harness.oracle.facts import Array
from harness.oracle.gradient import norm
from harness.oracle.hand_changes import HandChange, joined

CLOSE = 2e-3
"""How far a change may be from that of a rule, relative to it: roots of small numbers lose digits."""
LARGEST_EPS = 1e-4
MOST = 6
"""Numbers that are tried for each of the decays and each of the smallest."""

Rule = Callable[[Sequence[Array]], Iterator[Array]]
"""From all gradients the directions in which the parameters go, one after the other."""


def rates_of_a_rule(changes: list[HandChange]) -> list[float] | None:
    """The rate of each change if all of them follow one rule at rates that were at hand; ``None`` if
    there is none, or if the gradients may as well have been divided by the backwards of a window: where
    a rule divides by their size, nothing tells.
    """
    names = tuple(changes[0].after)
    alike = all(tuple(c.after) == names and c.gradients.keys() >= {*names} for c in changes)
    if not alike or not all(c.is_finite for c in changes):
        return None
    gradients = [joined(c.gradients, names) for c in changes]
    moved = [joined(c.moved, names) for c in changes]
    noise = [c.noise(names) for c in changes]
    window = max(change.backwards for change in changes)
    for rule in _rules(changes[0]):
        found = _rates(rule(gradients), moved, noise)
        if found is not None and all(_at_hand(r, c) for r, c in zip(found, changes, strict=True)):
            means = _rates(rule([gradient / window for gradient in gradients]), moved, noise)
            return None if window > 1 and _same(means, found) else found
    return None


def _same(some: list[float] | None, others: list[float]) -> bool:
    return some is not None and bool(np.allclose(some, others, rtol=CLOSE))


def _rules(change: HandChange) -> Iterator[Rule]:
    """With every number at hand that may belong to it."""
    at_hand = sorted({n for _, n in change.numbers if 0.0 < n < 1.0})
    decays = [n for n in at_hand if n >= 0.5][:MOST]
    smallest = [n for n in at_hand if n <= LARGEST_EPS][:MOST]
    for decay in decays:
        yield lambda gradients, decay=decay: _averaged(gradients, decay)  # type: ignore[misc]  # mypy takes the default for an argument
        yield lambda gradients, decay=decay: _looking_ahead(gradients, decay)  # type: ignore[misc]
    for eps in smallest:
        yield lambda gradients, eps=eps: _summed_squares(gradients, eps)  # type: ignore[misc]
    for decay, eps in product(decays, smallest):
        yield lambda gradients, how=(decay, eps): _averaged_squares(gradients, *how)  # type: ignore[misc]
    for both in product(decays, decays, smallest):
        yield lambda gradients, how=both: _adam(gradients, *how)  # type: ignore[misc]


def _averaged(gradients: Sequence[Array], decay: float) -> Iterator[Array]:
    """Momentum that is a mean: ``m = decay * m + (1 - decay) * g``."""
    mean = np.zeros_like(gradients[0])
    for gradient in gradients:
        mean = decay * mean + (1 - decay) * gradient
        yield mean


def _looking_ahead(gradients: Sequence[Array], decay: float) -> Iterator[Array]:
    """Nesterov's momentum."""
    velocity = np.zeros_like(gradients[0])
    for gradient in gradients:
        velocity = decay * velocity + gradient
        yield gradient + decay * velocity


def _summed_squares(gradients: Sequence[Array], eps: float) -> Iterator[Array]:
    """AdaGrad."""
    squares = np.zeros_like(gradients[0])
    for gradient in gradients:
        squares = squares + gradient**2
        yield gradient / (np.sqrt(squares) + eps)


def _averaged_squares(gradients: Sequence[Array], decay: float, eps: float) -> Iterator[Array]:
    """RMSprop."""
    squares = np.zeros_like(gradients[0])
    for gradient in gradients:
        squares = decay * squares + (1 - decay) * gradient**2
        yield gradient / (np.sqrt(squares) + eps)


def _adam(gradients: Sequence[Array], one: float, two: float, eps: float) -> Iterator[Array]:
    first, second = np.zeros_like(gradients[0]), np.zeros_like(gradients[0])
    for step, gradient in enumerate(gradients, 1):
        first = one * first + (1 - one) * gradient
        second = two * second + (1 - two) * gradient**2
        yield (first / (1 - one**step)) / (np.sqrt(second / (1 - two**step)) + eps)


def _rates(
    directions: Iterator[Array], moved: list[Array], noise: list[float]
) -> list[float] | None:
    found: list[float] = []
    for towards, change, lost in zip(directions, moved, noise, strict=True):
        rate = float(change @ towards / ((towards @ towards) or 1.0))
        if rate <= 0.0 or norm(change - rate * towards) > CLOSE * norm(change) + lost:
            return None
        found.append(rate)
    return found


def _at_hand(rate: float, change: HandChange) -> bool:
    return any(abs(rate - number) <= CLOSE * number for _, number in change.numbers if number > 0.0)
