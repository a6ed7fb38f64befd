"""Figures that several judgements read from a loop's trace. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.checking.running import BlockRun
from harness.domain.trace import Match, Update

SAME_DIRECTION = 0.98


@dataclass(frozen=True, slots=True)
class ShortWindow:
    """The update of a window that has fewer micro-batches because the data ended."""

    size: int
    """Number of its micro-batches."""
    share: float
    """Consumed norm over the norm of the mean gradient of its own micro-batches; 1 where it was divided
    by their number.
    """
    right: bool
    """Whether the share is 1, up to rounding."""

    @property
    def sentence(self) -> str:
        """What was seen, in words."""
        said = (
            f"The short last window of {self.size} micro-batches reaches the optimizer at "
            f"{self.share:.3g} of its mean gradient"
        )
        full = not self.right and self.share < 1
        return f"{said}: it was divided by the full number of steps." if full else f"{said}."


def updates(seen: BlockRun) -> tuple[Update, ...]:
    """All updates of rank 0, probe by probe."""
    return tuple(update for probe in seen.trace.probes for update in probe.updates)


def best_match(update: Update) -> Match | None:
    """The true gradient, among those of all objectives but the program's own loss, that the consumed
    one is nearest to in direction.
    """
    others = [m for m in update.matches if m.objective != "as-computed"]
    return max(others, key=lambda m: m.cosine, default=None)


def true_norms(seen: BlockRun, probe: str) -> Iterator[tuple[Update, float]]:
    """Each update of a probe with the norm of its true gradient."""
    trace = seen.trace.probe(probe)
    for update in trace.updates if trace else ():
        match = best_match(update)
        if match is not None and not update.skipped:
            yield update, match.expected_norm


def short_window(seen: BlockRun) -> ShortWindow | None:
    """The first short window below the clipping threshold, where it can be compared."""
    for update in seen.trace.probes[0].updates:
        match = best_match(update)
        if not update.short or match is None or not match.expected_norm:
            continue
        if match.cosine > SAME_DIRECTION:
            right = abs(match.ratio - 1) < max(0.02, 10 * update.tolerance)
            return ShortWindow(update.window_size, match.ratio, right)
    return None
