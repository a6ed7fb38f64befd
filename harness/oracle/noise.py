"""Whether what no micro-batch explains repeats in several updates: noise that is not drawn anew."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.domain.trace import Update
from harness.oracle.facts import Array
from harness.oracle.gradient import norm, total
from harness.oracle.updates import RankView

PLAIN = 1e-3
"""Share of a parameter's gradient above which the rest is not rounding."""

ALIKE = 0.99
"""Cosine from which on two rests are one draw; that of independent noise is far lower."""

NEARLY = 0.5
"""Cosine below which a closer look is not needed."""

ENOUGH = 16
"""With fewer elements than this, a cosine says little."""


@dataclass(frozen=True, slots=True)
class UnknownRest:
    """One parameter's gradient in one update, split into what is known of it and the rest."""

    consumed: Array
    """What the optimizer consumed. (n,)"""
    known: tuple[Array, ...]
    """The computed gradient, and the parameter, which weight decay adds. (n,) each"""
    left: Array
    """The rest, which no combination of these gives. (n,)"""


def with_repeats(updates: tuple[Update, ...], view: RankView) -> tuple[Update, ...]:
    """The updates, each with the earlier ones in which the same was added to the gradients."""
    noisy = [
        u for u in updates if not u.skipped and (u.unexplained or 0.0) > max(PLAIN, u.tolerance)
    ]
    if len(noisy) < 2 or view.trains:
        return updates
    rests = {u.index: rest(u.index, view) for u in noisy}
    found = {i: tuple(j for j in rests if j < i and same(rests[i], rests[j])) for i in rests}
    return tuple(u.model_copy(update={"same_rest": found.get(u.index, ())}) for u in updates)


def rest(index: int, view: RankView) -> dict[str, UnknownRest]:
    """What is left of each parameter's gradient without the computed one and weight decay. Nothing is
    told of parameters whose computed gradient overflowed, which a program may have covered up.
    """
    update = view.run.updates[index]
    flows = [x.gradient for of_rank in view.windows if index < len(of_rank) for x in of_rank[index]]
    computed = dict(total(flows).parts())
    found: dict[str, UnknownRest] = {}
    for name, value in update.gradients.items():
        consumed = value.ravel().astype(np.float64)
        named = (computed.get(name), update.before.get(name))
        known = tuple(k.ravel().astype(np.float64) for k in named if k is not None)
        if consumed.size < ENOUGH or any(k.size != consumed.size for k in known):
            continue
        if not all(np.isfinite(values).all() for values in (consumed, *known)):
            continue
        left = without(consumed, known)
        if norm(left) > PLAIN * norm(consumed):
            found[name] = UnknownRest(consumed, known, left)
    return found


def without(vector: Array, known: tuple[Array, ...]) -> Array:
    """The part of a vector that no combination of the known ones gives. (n,) -> (n,)"""
    if not known:
        return vector
    matrix = np.stack(known, axis=1)
    solution: Array = np.linalg.lstsq(matrix, vector, rcond=None)[0]
    return np.asarray(vector - matrix @ solution)


def same(one: Mapping[str, UnknownRest], other: Mapping[str, UnknownRest]) -> bool:
    """Whether both rests point in the same direction in every parameter that has one."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(points_alike(one[n], other[n]) for n in shared)


def points_alike(one: UnknownRest, other: UnknownRest) -> bool:
    """Whether it is one draw: each has lost what was known of its own update, so both lose both."""
    if cosine(one.left, other.left) < NEARLY:
        return False
    known = (*one.known, *other.known)
    return cosine(without(one.consumed, known), without(other.consumed, known)) > ALIKE


def cosine(one: Array, other: Array) -> float:
    """Cosine of the angle between two vectors; 0 where one is 0."""
    sizes = norm(one) * norm(other)
    return float(one @ other) / sizes if sizes else 0.0
