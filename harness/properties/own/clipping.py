"""Of a program with several optimizers the updates of those that it clips for: the others bound nothing,
and nobody misses that.
"""

from harness.domain.clip_call import clip_calls
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.properties.evidence.settings import bounds_norm


def where_clipped(trace: Trace) -> Trace:
    """The trace without the updates of optimizers before whose steps no norm was ever bounded."""
    updates = [u for probe in trace.probes for rank in probe.ranks for u in rank.updates]
    clipped = {u.optimizers for u in updates if _bounds(u)}
    if not clipped or all(u.optimizers in clipped for u in updates):
        return trace
    return Trace(probes=tuple(_only(probe, clipped) for probe in trace.probes))


def _bounds(update: Update) -> bool:
    return update.late_threshold is not None or any(map(bounds_norm, clip_calls(update)))


def _only(probe: ProbeTrace, clipped: set[tuple[int, ...]]) -> ProbeTrace:
    ranks = (
        rank.model_copy(
            update={"updates": tuple(u for u in rank.updates if u.optimizers in clipped)}
        )
        for rank in probe.ranks
    )
    return probe.model_copy(update={"ranks": tuple(ranks)})
