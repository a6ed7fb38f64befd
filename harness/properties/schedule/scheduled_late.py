"""Schedules that move with each micro-batch in a part of the training only, say after a warm-up."""

from harness.domain.trace import ProbeTrace
from harness.properties.evidence.windows import Window, of_probe

FEW = 2
"""Up to this many steps in one place may be one for the update and one for the pass."""


def by_micro_batch(window: Window, probe: ProbeTrace) -> bool:
    """Whether between this update and the next, in one pass over the data, the schedule moved with
    each micro-batch: it may have moved with updates before, or not at all.
    """
    size, index = window.update.window_size, window.update.index
    following = next(
        (w for w in of_probe(probe) if (w.rank, w.update.index) == (window.rank, index + 1)), None
    )
    if (
        following is None
        or size <= FEW
        or window.update.scheduler_steps != size != probe.world_size
    ):
        return False
    passes = {m.after_batch[0] for w in (window, following) for m in w.own if m.after_batch}
    return len(passes) == 1
