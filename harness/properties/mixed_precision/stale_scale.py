"""Losses that are multiplied by another scale than the one that gradients are divided by, where a clip
hides it: their weights times the loss scale stay what they were when the scale was another one.
"""

import math
from collections.abc import Sequence

from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import close

SAME = 0.02
"""Relative difference up to which weights are the same: half precision rounds them."""


INITIAL = 65536.0
"""The scale at which a GradScaler begins where nobody says otherwise."""


def left_behind(readings: Sequence[WindowReading]) -> tuple[WindowReading, WindowReading] | None:
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
            if written_down(first, late):
                return first, late
    return None


def written_down(first: WindowReading, late: WindowReading) -> bool:
    """Whether the later window's loss was multiplied by the number at which torch's GradScaler begins,
    in a run in which this one began lower.
    """
    factor = INITIAL / late.update.loss_scale
    pairs = list(zip(weights(first), weights(late), strict=False))
    return (
        bool(pairs)
        and factor >= 2.0
        and all(a and b and close(b / a, factor, SAME) for a, b in pairs)
    )


def times(first: WindowReading, late: WindowReading) -> float:
    """How many times its scale the later window's loss was multiplied by: a power of two."""
    a, b = weights(first)[0], weights(late)[0]
    return 2.0 ** round(math.log2(b / a)) if a and b and b / a > 0.0 else 1.0


def before(first: WindowReading, late: WindowReading) -> bool:
    """Whether a window came earlier in the same run, and holds as many micro-batches."""
    return (
        first.window.probe is late.window.probe
        and first.window.rank == late.window.rank
        and first.update.index < late.update.index
        and first.update.window_size == late.update.window_size
    )


def weights(reading: WindowReading) -> list[float | None]:
    """Weights of the window's own micro-batches, in order."""
    return [m.weight for m in reading.window.own]
