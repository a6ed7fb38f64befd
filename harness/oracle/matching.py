"""What the optimizer consumed, beside what it should have: matches, coefficients, residuals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.domain.scenario import Objective
from harness.domain.trace import Match, ParameterMatch
from harness.oracle.facts import Array
from harness.oracle.gradient import Gradient, norm
from harness.oracle.recent import RecentValues
from harness.oracle.replayed import Replayed

EPSILONS = {None: 2.0**-23, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Unit of rounding by element type of the forward; ``None``: no autocast."""

CLIP_OFFSET = 2.0e-6
"""torch divides by norm + 1e-6, so a gradient of norm 1 is clipped to 1 - 1e-6."""

BROKEN_DOWN = 0.05
"""Relative error of an output above which half precision computed something else altogether."""

SEPARABLE = 0.05
"""Largest error of a coefficient, relative to the largest coefficient, at which 1, 1/2 and 0 can
still be told apart.
"""

WITHIN = 4.0
"""A coefficient below this many of its own errors cannot be told from 0."""

CUT = 0.01
"""Relative distance up to which a gradient counts as clipped element by element, in half precision
too.
"""

FLOOR = 2.0**-22
"""Least relative noise that a recorded gradient is assumed to have."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """How much of each flow's gradient the consumed gradient contains."""

    values: tuple[float | None, ...]
    """One for each flow; ``None`` where the flows cannot be told apart."""
    unexplained: float
    """Relative part of the consumed gradient that is no linear combination of the flows."""


RECENT = RecentValues[Coefficients](4 << 20)
"""Coefficients that were computed."""


def match(objective: Objective, true: Gradient, consumed: Gradient) -> Match:
    """Consumed beside true, over the parameters that had a gradient; others are listed, but not
    compared.
    """
    g = true.on(consumed.names)
    c = consumed.on(g.names)
    size, got = g.norm, c.norm
    inner, norms = g.dots(c), g.norms
    both = {n: (a, b, d) for n, a, b, d in zip(g.names, norms, c.norms, inner, strict=True)}
    parameters = [
        ParameterMatch(name=n, expected_norm=both[n][0], consumed_norm=both[n][1], dot=both[n][2])
        if n in both
        else ParameterMatch(name=n, expected_norm=expected, consumed_norm=None, dot=0.0)
        for n, expected in zip(true.names, norms if g is true else true.norms, strict=True)
    ]
    error = c.minus(g).norm
    return Match(
        objective=objective,
        expected_norm=size,
        consumed_norm=got,
        cosine=sum(inner) / (size * got) if size and got else 0.0,
        relative_error=error / size if size else (0.0 if not got else math.inf),
        direction_error=c.scaled(1 / got).minus(g.scaled(1 / size)).norm if size and got else 0.0,
        parameters=tuple(parameters),
    )


def coefficients(flows: Sequence[Gradient], consumed: Gradient) -> Coefficients:
    """Least squares ``consumed = sum a_j flow_j``; flows that cannot be told apart get ``None``.

    The residual, which no combination explains, is taken for noise. Spread by the inverse, it gives
    the error of each coefficient.
    """
    key = b"".join(gradient.digest for gradient in (consumed, *flows))
    found = RECENT.get(key)
    return RECENT.keep(key, _solved(flows, consumed), 500) if found is None else found


def unexplained_by_parameter(window: Gradient, consumed: Gradient) -> float:
    """Relative part of the consumed gradient that is left when each parameter may have its own
    factor.
    """
    g = window.on(consumed.names)
    c = consumed.on(g.names)
    size = consumed.norm
    if not size:
        return 0.0
    factors = [d / s if s else 0.0 for d, s in zip(g.dots(c), g.dots(g), strict=True)]
    foreign = math.sqrt(max(0.0, size**2 - c.norm**2))
    return math.hypot(c.minus(g.spread(factors)).norm, foreign) / size


def cut_at(window: Gradient, consumed: Gradient) -> float | None:
    """The value at which every element of the computed gradient was clipped; ``None`` if that is
    not what was done to it.
    """
    g = window.on(consumed.names)
    c = consumed.on(g.names)
    if not c.names or not c.norm:
        return None
    limit = float(np.abs(c.flat).max())
    cut = g.with_elements(g.flat.clip(-limit, limit))
    away = g.minus(cut).norm > CUT * g.norm
    return limit if away and cut.minus(c).norm <= CUT * c.norm else None


def tolerance(window: Sequence[Replayed], whole: Gradient) -> float:
    """Relative rounding error of an accumulated gradient (see docs/tolerances.md).

    Each flow carries an error of about ``2 sqrt(depth)`` units of its element type, where depth is
    the number of parameter tensors; sums of k terms add ``sqrt(k)``; cancellation magnifies both by
    the size of the terms over the size of their sum. The clip's own epsilon comes on top.
    """
    size = whole.norm
    if not window or size == 0.0:
        return CLIP_OFFSET
    terms = sum(r.gradient.norm for r in window)
    # a window that overflowed has no cancellation to speak of, and must not make the tolerance NaN
    cancellation = terms / size if math.isfinite(terms) and math.isfinite(size) else 1.0
    unit = max(max(_unit(r), r.breakdown) for r in window)
    steps = 2.0 * math.sqrt(len(whole.names)) + math.sqrt(len(window))
    return unit * steps * max(1.0, cancellation) + CLIP_OFFSET


def _solved(flows: Sequence[Gradient], consumed: Gradient) -> Coefficients:
    size = consumed.norm
    columns = [flow.among(consumed).flat for flow in flows]
    sizes = [norm(c) for c in columns]
    kept = [j for j, s in enumerate(sizes) if s > 0 and math.isfinite(s)]
    if not kept or size == 0.0 or not math.isfinite(size):
        return Coefficients((None,) * len(flows), 0.0 if size == 0.0 else 1.0)
    if len(kept) > len(consumed.flat):  # they make up any gradient, noise as well
        return Coefficients((None,) * len(flows), 0.0)
    matrix = np.stack([columns[j] / sizes[j] for j in kept], axis=1)
    solution, spread, residual = _least_squares(matrix, consumed.flat)
    unexplained = norm(residual) / size
    noise = max(unexplained, FLOOR) * size
    found = {j: float(solution[place]) / sizes[j] for place, j in enumerate(kept)}
    allowed = SEPARABLE * max(abs(a) for a in found.values())
    values: list[float | None] = [None] * len(flows)
    for place, j in enumerate(kept):
        error = noise * float(spread[place]) / sizes[j]
        if error < allowed:
            nothing = abs(found[j]) < min(WITHIN * error, allowed)
            whole = len(flows[j].only(consumed.names).names) == len(consumed.names)
            # a model inside another one flows with that, which has all of its gradient
            values[j] = found[j] if not nothing else 0.0 if whole else None
    return Coefficients(tuple(values), unexplained)


def _unit(replayed: Replayed) -> float:
    widest = [str(output.dtype) for output in replayed.flow.forward.outputs]
    return max(EPSILONS.get(d, 2.0**-23) for d in [replayed.flow.forward.autocast, *widest])


def _least_squares(matrix: Array, target: Array) -> tuple[Array, Array, Array]:
    """Solution, error of each coefficient for unit noise (infinite where undetermined), and residual."""
    left, singular, right = np.linalg.svd(matrix, full_matrices=False)
    usable = singular > singular[0] * 1e-10
    inverse = np.where(usable, 1.0 / np.maximum(singular, 1e-300), 0.0)
    solution = right.T @ (inverse * (left.T @ target))
    spread = np.sqrt(((right.T * inverse) ** 2).sum(axis=1))
    undetermined = (right.T[:, ~usable] ** 2).sum(axis=1) > 1e-6
    return solution, np.where(undetermined, math.inf, spread), target - matrix @ solution
