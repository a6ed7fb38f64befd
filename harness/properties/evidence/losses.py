"""The losses that calls of backward started from."""

import math
from collections.abc import Iterable

from harness.domain.trace import RankTrace


def none_is_finite(ranks: Iterable[RankTrace]) -> bool:
    """Whether every loss that is known is NaN or infinite, and some is known."""
    losses = [b.loss for rank in ranks for b in rank.backwards if b.loss is not None]
    return bool(losses) and not any(map(math.isfinite, losses))
