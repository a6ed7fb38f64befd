"""Training that is timed as it runs, told from variants that run for the clock alone.

One loop over the loader whose steps are clipped now and then is no comparison: with one step in ten
clipped it has no two sides.
"""

from collections.abc import Iterable
from itertools import groupby, pairwise

from harness.domain.trace import ProbeTrace, Update

SIDE = 3
"""Clipped steps in a row that may be a side of a comparison; and of so many steps one has to be, or
there are no two sides.
"""

SHRUNK = 0.99
"""Consumed over true, below which something acted like a clip without being called one."""


def is_timed_training(probe: ProbeTrace) -> bool:
    """Whether all its updates are one loop over the loader of which few are clipped, here and there."""
    touched = scattered(probe)
    return 0 < SIDE * sum(touched) < len(touched)


def scattered(probe: ProbeTrace) -> list[bool]:
    """Update by update, whether it was clipped; empty for what is several loops or has variants."""
    if len(probe.ranks) != 1 or not in_order(probe.updates):
        return []
    touched = [clipped(u) for u in probe.updates]
    return touched if longest(touched) < SIDE else []


def in_order(updates: Iterable[Update]) -> bool:
    """Whether each update had a later batch than the one before it."""
    places = [max((m.after_batch or (-1, -1) for m in u.window), default=(-1, -1)) for u in updates]
    return all(one < other for one, other in pairwise([(-1, -1), *places]))


def clipped(update: Update) -> bool:
    """Whether a clip was called for it, or something shrank it."""
    return bool(update.clip_calls) or any(m.ratio < SHRUNK for m in update.matches[:1])


def longest(touched: Iterable[bool]) -> int:
    """Most updates in a row that were clipped."""
    return max((len([*run]) for each, run in groupby(touched) if each), default=0)
