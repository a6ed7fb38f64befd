"""Clips that had gradients before and have none any more: what they are given is used up. Pure."""

from collections.abc import Sequence

from harness.domain.clip_call import clip_calls
from harness.domain.update import Update

MORE = 2
"""Later updates in which a clip may have nothing before that shows what it is given is used up."""


def ran_dry(before: Update, now: Update) -> bool:
    """Whether the same clipping calls were made, and one that had gradients before had none now."""
    calls = [[c for c in clip_calls(u) if c.function.startswith("clip_")] for u in (before, now)]
    if len(calls[0]) != len(calls[1]) or _present(now) < _present(before):
        return False
    return any(first.gradients > 0 == later.gradients for first, later in zip(*calls, strict=True))


def stays_dry(updates: Sequence[Update]) -> bool:
    """Whether a clip had gradients in the first update, and in none of at least three later ones."""
    first, later = updates[:1], updates[1:]
    return len(later) > MORE and all(ran_dry(first[0], one) for one in later)


def _present(update: Update) -> int:
    """Parameters that the optimizer had a gradient for."""
    parameters = update.matches[0].parameters if update.matches else ()
    return sum(p.consumed_norm is not None for p in parameters)
