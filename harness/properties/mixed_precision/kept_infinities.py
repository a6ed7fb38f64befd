"""Infinite gradients of a skipped update that stay in ``.grad``: the windows after it are skipped too,
though nothing in them overflows.
"""

import math
from collections.abc import Iterator
from itertools import pairwise

from harness.domain.trace import ProbeTrace, Update

LOWER = 2.0
"""How many times lower the scale has to be than one at which a window was sound."""

SMALLER = 0.75
"""Part of a sound window's largest scaled loss that no loss of a skipped one exceeds."""


def kept(probe: ProbeTrace) -> list[Update]:
    """Skipped updates right after a skipped one, whose gradients were infinite from their first backward
    on, where losses, on all ranks, are smaller than those that a higher scale left finite.
    """
    if not probe.ranks:
        return []
    updates = probe.ranks[0].updates
    sound = [
        (u.loss_scale, max(losses))
        for u in updates
        if not u.skipped and u.consumed_finite and (losses := list(scaled(probe, u.index)))
    ]
    return [
        update
        for before, update in pairwise(updates)
        if before.skipped and update.skipped and from_the_first_on(probe, update.index)
        if without_cause(probe, update, sound)
    ]


def without_cause(probe: ProbeTrace, update: Update, sound: list[tuple[float, float]]) -> bool:
    """Whether a window that was sound had a higher scale and larger losses."""
    losses = list(scaled(probe, update.index))
    return bool(losses) and any(
        scale >= LOWER * update.loss_scale and max(losses) <= SMALLER * loss
        for scale, loss in sound
    )


def from_the_first_on(probe: ProbeTrace, index: int) -> bool:
    """Whether the first backward of a window left gradients that are not finite, on every rank."""
    firsts = [
        next((b for b in rank.backwards if b.after_update == index), None) for rank in probe.ranks
    ]
    return all(first is not None and not first.gradients_finite for first in firsts)


def scaled(probe: ProbeTrace, index: int) -> Iterator[float]:
    """Sizes of the losses, as backward got them, of one window on all ranks; infinite where one is
    unknown or not finite.
    """
    for rank in probe.ranks:
        for backward in rank.backwards:
            if backward.after_update == index:
                loss = backward.loss
                yield abs(loss) if loss is not None and math.isfinite(loss) else math.inf
