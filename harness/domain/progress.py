"""How far a run has come, for whoever waits for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run at one moment."""

    done: int
    """Answers that are graded."""
    total: int
    """Answers in all."""
    running: tuple[str, ...]
    """Ids of the scenarios being answered or executed now."""
