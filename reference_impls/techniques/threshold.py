"""Choosing max_norm from norms that were observed before clipping.

Clip what is far outside of the usual, not what is usual: a multiple of the median. The mean and the
maximum are set by the very spikes that are to be clipped.
"""

from collections.abc import Sequence
from math import isfinite
from statistics import median


def choose_max_norm(norms: Sequence[float], multiple: float = 4.0) -> float:
    """A threshold in the units of the norms: a multiple of the median of those that are finite.

    Args:
        norms: gradient norms before clipping, from at least ten updates.
        multiple: how far above the usual a norm has to be before it is clipped.

    Raises:
        ValueError: fewer than ten finite norms, or their median is 0.
    """
    finite = [norm for norm in norms if isfinite(norm)]
    if len(finite) < 10:
        raise ValueError(f"at least 10 finite norms are needed to choose from, got {len(finite)}")
    if not median(finite) > 0:
        raise ValueError("more than half of the norms are 0: look for what stops the gradient")
    return multiple * median(finite)
