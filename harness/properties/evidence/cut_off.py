"""Calls of backward that reached nothing: the loss that they start from is cut off from the model."""

from collections.abc import Sequence

from harness.properties.evidence.figures import count
from harness.properties.evidence.windows import Window

WHY = (
    "a loss that is cut off from the model (detach(), item(), a new tensor). Call backward on the loss "
    "as it was computed"
)
"""What is wrong with such a loss, and what to do instead."""


def advice(windows: Sequence[Window], otherwise: str) -> str:
    """What to change: the loss, where a backward reached nothing before one of these updates."""
    window = next((w for w in windows if in_vain(w)), None)
    if window is None:
        return otherwise
    calls = calls_before(window)
    return (
        f"Of the {count(len(calls), 'call')} of backward before {window.where}, "
        f"{in_vain(window)} reached no parameter, starting from {WHY}."
    )


def in_vain(window: Window) -> int:
    """How many calls of backward since the update before reached nothing."""
    return sum(calls_before(window))


def calls_before(window: Window) -> list[bool]:
    """For each call of backward since the update before, in order, whether it reached nothing."""
    index = window.update.index
    return [b.in_vain for b in window.rank_trace.backwards if b.after_update == index]
