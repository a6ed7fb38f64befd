"""Losses that are multiplied by another scale than the one that gradients are divided by, where a clip
hides it: their weights times the loss scale stay what they were when the scale was another one.
"""

import math
from collections.abc import Sequence

from harness.properties.evidence.consumption import Reading
from harness.properties.evidence.figures import close

SAME = 0.02
"""Relative difference up to which weights are the same: half precision rounds them."""


def left_behind(readings: Sequence[Reading]) -> tuple[Reading, Reading] | None:
    """A right window and a later clipped one of as many micro-batches at another loss scale, where
    the weights differ by just as much as the scales do; ``None`` without such a pair.
    """
    for late in (r for r in readings if r.state == "clipped"):
        for first in (r for r in readings if r.right and before(r, late)):
            factor = first.update.loss_scale / late.update.loss_scale
            if close(factor, 1.0, 0.5 * SAME):
                continue
            pairs = list(zip(weights(first), weights(late), strict=False))
            if pairs and all(a and b and close(b / a, factor, SAME) for a, b in pairs):
                return first, late
        for first in (r for r in readings if r.state == "clipped" and before(r, late)):
            if grown_by_a_power(weights(first), weights(late)):
                return first, late
    return None


def grown_by_a_power(old: list[float | None], new: list[float | None]) -> bool:
    """Whether all weights of a window are the same power of two times those of another, at least two:
    what multiplies the loss is none of the scaler's numbers, or not the one that it has now.
    """
    found = [b / a for a, b in zip(old, new, strict=False) if a and b]
    if len(found) < len(new) or not found or found[0] <= 0.0:
        return False
    exponent = round(math.log2(found[0]))
    return exponent >= 1 and all(close(one, 2.0**exponent, SAME) for one in found)


def times(first: Reading, late: Reading) -> float:
    """How many times its scale the later window's loss was multiplied by: a power of two."""
    a, b = weights(first)[0], weights(late)[0]
    return 2.0 ** round(math.log2(b / a)) if a and b and b / a > 0.0 else 1.0


def before(first: Reading, late: Reading) -> bool:
    """Whether a window came earlier in the same run, and holds as many micro-batches."""
    return (
        first.window.probe is late.window.probe
        and first.window.rank == late.window.rank
        and first.update.index < late.update.index
        and first.update.window_size == late.update.window_size
    )


def weights(reading: Reading) -> list[float | None]:
    """Weights of the window's own micro-batches, in order."""
    return [m.weight for m in reading.window.own]
