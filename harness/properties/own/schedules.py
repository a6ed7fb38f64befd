"""A learning-rate schedule that moves once a micro-batch: made for that, or for updates."""

from harness.domain.trace import ProbeTrace, Trace
from harness.properties.evidence.windows import usual_size

ID = "scheduler-per-update"

ALIKE = 0.1
"""How far a schedule's length may be from the steps that it made, and still be made for them."""

MADE_FOR_THEM = "it is made for as many steps as there are micro-batches"


def counts_micro_batches(trace: Trace) -> bool:
    """Whether the schedule tells a length, and moved that often in a run that came to its end. How often
    it moved within the first window is not counted, and may be once a micro-batch of it.
    """
    lengths = [(probe, length) for probe in trace.probes if (length := planned(probe))]
    return bool(lengths) and all(
        probe.program.outcome == "returned"
        and -ALIKE * length - usual_size(probe) < steps(probe) - length <= ALIKE * length
        for probe, length in lengths
    )


def planned(probe: ProbeTrace) -> int | None:
    """The length of the one schedule that moved, where it tells it."""
    lengths = {u.scheduled_for for u in probe.updates if u.scheduler_steps} - {None}
    return lengths.pop() if len(lengths) == 1 else None


def steps(probe: ProbeTrace) -> int:
    """How often it moved."""
    return sum(u.scheduler_steps for u in probe.updates)
