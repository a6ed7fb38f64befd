"""How far a run is, for whoever waits for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One moment of a run."""

    done: int
    """Answers that are graded."""
    total: int
    """Answers there are."""
    running: tuple[str, ...]
    """Ids of the scenarios being answered or executed now."""
