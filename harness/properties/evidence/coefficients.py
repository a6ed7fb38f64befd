"""How much of each micro-batch reached the optimizer, relative to the one of which most did."""

from harness.domain.trace import MicroBatch
from harness.properties.evidence.figures import close
from harness.properties.evidence.windows import Window

SAME_NORM = 1e-6
"""Relative difference up to which two norms are those of one and the same gradient."""


def largest(window: Window) -> float:
    """Largest coefficient among the window's own micro-batches; 0 when none could be separated."""
    found = [abs(m.coefficient) for m in window.own if m.coefficient is not None]
    return max(found, default=0.0)


def shares(window: Window) -> tuple[float, ...]:
    """The coefficients of this rank's micro-batches over the largest, in order; empty if they
    cannot be separated.
    """
    top = largest(window)
    found = [m.coefficient for m in window.own]
    if not window.separable or top == 0.0 or any(c is None for c in found):
        return ()
    return tuple(c / top for c in found if c is not None)


def even(window: Window) -> bool:
    """Whether every micro-batch of this rank arrived with the same factor."""
    found = shares(window)
    return bool(found) and max(found) - min(found) <= window.negligible


def wiped(window: Window) -> tuple[MicroBatch, ...]:
    """Micro-batches of which nothing arrived, unless another forward brought the same samples."""
    found = shares(window)
    pairs = list(zip(window.own, found, strict=True)) if found else []
    kept = [m for m, share in pairs if abs(share) > window.negligible]
    carried = {s for m in kept for s in m.samples or ()}
    return tuple(
        m
        for m, share in pairs
        if abs(share) <= window.negligible and not (m.samples and set(m.samples) <= carried)
    )


def stale(window: Window) -> float | None:
    """Largest coefficient of an earlier window's micro-batch over the largest of this one's.

    ``None`` when there is no earlier window or its part could not be separated.
    """
    own = [abs(m.coefficient) for m in window.update.window if m.coefficient is not None]
    if len(own) < len(window.update.window):
        # with its own share unknown, noise in an old one once looked like a billion times it
        return None
    top = max(own, default=0.0)
    old = [m for m in window.update.micro_batches if not m.in_window]
    found = [abs(m.coefficient) for m in old if m.coefficient is not None]
    if not found or not window.separable:
        return None
    return max(found) / top if top else float("inf")


def consumed_again(window: Window) -> bool:
    """Whether an update without a micro-batch of its own consumed the gradient of the update before
    it.
    """
    update, rank = window.update, window.rank_trace
    untouched = not any(b.after_update == update.index for b in rank.backwards)
    last = next((u for u in reversed(rank.updates) if u.index < update.index), None)
    if not (update.window_size or update.consumed_finite) and untouched:
        # a hook at the step may have divided it by a count that is 0 by then
        return last is not None and last.window_size > 0
    if update.window_size or not update.consumed_norm > 0:
        return False
    share = stale(window)
    same = last is not None and close(update.consumed_norm, last.consumed_norm, SAME_NORM)
    if not untouched or update.rounds:
        same = False  # it came from elsewhere, as from other ranks: clipped norms are alike
    return same or (share is not None and share > window.negligible)


def by_rank(window: Window) -> dict[int, float]:
    """Mean coefficient of each rank's micro-batches in this window; empty if they cannot be
    separated.
    """
    found: dict[int, list[float]] = {}
    for m in window.update.window:
        if m.coefficient is None or not window.separable:
            return {}
        found.setdefault(m.rank, []).append(m.coefficient)
    return {rank: sum(values) / len(values) for rank, values in found.items()}
