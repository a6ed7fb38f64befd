"""Accumulation by windows: each micro-batch comes with the size of its window and whether it ends.

Dividing each loss by the real size of its window makes every update the mean of its micro-batches,
the short window at the end of an epoch included, and nothing is left over.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def windows(batches: Iterable[T], size: int) -> Iterator[tuple[T, int, bool]]:
    """Batches with the size of their window and whether they are its last.

    Args:
        batches: one pass over the data; need not have a length. A window is held in memory.
        size: micro-batches in an update.

    Raises:
        ValueError: size is less than 1.
    """
    if size < 1:
        raise ValueError(f"a window holds at least 1 micro-batch, got {size}")
    source = iter(batches)
    while window := list(islice(source, size)):
        for place, batch in enumerate(window, start=1):
            yield batch, len(window), place == len(window)
