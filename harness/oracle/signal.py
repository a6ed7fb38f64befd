"""Whether what comes out of a model depends on what goes in."""

import math
from collections.abc import Sequence

import numpy as np

from harness.oracle.facts import Array
from harness.oracle.gradient import norm
from harness.oracle.replayed import Replayed


def output_spread(window: Sequence[Replayed]) -> float | None:
    """Standard deviation over samples of the recorded outputs, over that of the targets.

    The largest of the window's micro-batches. Classes have no deviation of their own: logits that
    tell them apart differ by about 1.
    """
    spreads = [s for x in window if (s := _spread(x)) is not None]
    return max(spreads, default=None)


def _spread(replayed: Replayed) -> float | None:
    outputs, target = replayed.flow.forward.outputs, replayed.target
    if target is None or not outputs or len(outputs[0]) != len(target) or len(target) < 2:
        return None
    scale = _deviation(target) if target.dtype.kind == "f" else 1.0
    return _deviation(outputs[0]) / scale if scale else None


def _deviation(rows: Array) -> float:
    """Root mean square over samples of the distance from the mean sample. (n, ...) -> ()"""
    values = rows.astype(np.float64).reshape(len(rows), -1)
    away = values - np.add.reduce(values) / max(1, len(values))
    return norm(away) / math.sqrt(away.size) if away.size else 0.0
