"""Clips that had gradients before and have none any more: what they are given is used up. Pure."""

from collections.abc import Sequence

from harness.domain.clip_call import clip_calls
from harness.domain.update import Update

MORE = 2
"""Later updates in which a clip may have nothing before that shows what it is given is used up."""


def ran_dry(before: Update, now: Update) -> bool:
    """Whether the same clipping calls were made, and one that had gradients before had none now."""
    return _is_dry([before, now])


def stays_dry(updates: Sequence[Update]) -> bool:
    """Whether one clip had gradients in the first update, and in none of at least three later ones."""
    return len(updates) > MORE + 1 and _is_dry(updates)


def _is_dry(updates: Sequence[Update]) -> bool:
    calls = [[c for c in clip_calls(u) if c.function.startswith("clip_")] for u in updates]
    if len({*map(len, calls)}) != 1 or any(_present(u) < _present(updates[0]) for u in updates):
        return False
    return any(
        first.gradients > 0 and not any(c.gradients for c in later)
        for first, *later in zip(*calls, strict=True)
    )


def _present(update: Update) -> int:
    """Parameters that the optimizer had a gradient for."""
    parameters = update.matches[0].parameters if update.matches else ()
    return sum(p.consumed_norm is not None for p in parameters)
