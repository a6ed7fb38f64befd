"""How a program's loss weighed its samples: dL/dout as recorded, beside the workload's own."""

import math

import numpy as np

from harness.oracle.facts import Array
from harness.oracle.gradient import norm

ROUNDING = 2.0**-22
"""Misfit that rounding dL/dout to single precision causes."""

UNIFORM = 0.02
"""Misfit up to which a program's loss counts as a multiple of the workload's, half precision
included.
"""


def fitted_weights(
    received: Array, reference: Array, weights: Array
) -> tuple[float | None, float | None]:
    """Fit ``received_i = w_i * reference_i`` row by row: the sum of w over real samples, and the
    misfit.
    """
    rows = received.reshape(len(received), -1)
    references = reference.reshape(len(received), -1)
    if not (np.isfinite(rows).all() and np.isfinite(references).all()):
        return None, None
    size = norm(rows)
    if size == 0.0:
        return 0.0, 0.0
    squares = (references * references).sum(axis=1)
    inner = (rows * references).sum(axis=1)
    fitted = np.where(squares > 0, inner / np.maximum(squares, 1e-300), 0.0)
    error = norm(rows - fitted[:, None] * references) / size
    return float(fitted[weights > 0].sum()), error


def unevenness(received: Array, reference: Array, weights: Array) -> float:
    """Relative distance of dL/dout on real samples from the nearest multiple of the mean loss's."""
    real = weights > 0
    rows, references = received[real].reshape(-1), reference[real].reshape(-1)
    size, squared = norm(rows), float((references * references).sum())
    if not (0.0 < size < math.inf and 0.0 < squared < math.inf):
        return 0.0
    return norm(rows - float((rows * references).sum()) / squared * references) / size


def uniform_factor(received: Array, reference: Array) -> float | None:
    """The factor by which ``received`` is a multiple of ``reference``, up to rounding; ``None`` if
    it is none.
    """
    squared = float((reference * reference).sum())
    factor = float((received * reference).sum()) / squared if squared else 0.0
    if not factor or not math.isfinite(factor):
        return None
    misfit = norm(received - factor * reference)
    return factor if misfit < ROUNDING * abs(factor) * math.sqrt(squared) else None


def part_on_padding(received: Array, weights: Array) -> float:
    """Part of dL/dout, relative to it, that lies on rows which carry no weight."""
    ignored = weights == 0
    if not ignored.any():
        return 0.0
    rows = received.reshape(len(received), -1)
    size = norm(rows)
    return norm(rows[ignored]) / size if 0.0 < size < math.inf else 0.0
