"""A learning-rate schedule that moves once a micro-batch: made for that, or for updates."""

from collections.abc import Sequence

from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict
from harness.properties.evidence.windows import usual_size
from harness.properties.schedule.other_counts import counts_otherwise
from harness.properties.schedule.scheduler_per_update import barely_begun, elsewhere

ID = "scheduler-per-update"

ALIKE = 0.1
"""How far a schedule's length may be from the steps that it made, and still be made for them."""

RAN_OUT = "The specified number of total steps"
"""What torch says of a schedule that is stepped past its end."""

OFTEN = "times an update"
"""What is said of a schedule that moves with each micro-batch."""

MADE_FOR_THEM = "it is made for as many steps as there are micro-batches"


def counts_micro_batches(trace: Trace) -> bool:
    """Whether the schedule tells a length, and moved that often in a run that came to its end. How often
    it moved within the first window is not counted, and may be once a micro-batch of it.
    """
    lengths = [(probe, length) for probe in trace.probes if (length := planned(probe))]
    return bool(lengths) and all(
        probe.program.outcome == "returned"
        and -ALIKE * length - usual_size(probe) + 1 <= steps(probe) - length <= ALIKE * length
        for probe, length in lengths
    )


def where_told(verdicts: Sequence[Verdict], trace: Trace) -> tuple[Verdict, ...]:
    """The verdicts; a schedule that tells its length is not called wrong by a run that was cut short of
    it.
    """
    return tuple(_doubted(v, trace) if v.property == ID else v for v in verdicts)


def _doubted(verdict: Verdict, trace: Trace) -> Verdict:
    if verdict.outcome != "fail":
        return verdict
    for probe in trace.probes:
        length = planned(probe)
        over = RAN_OUT in (probe.program.message or "") or barely_begun(probe) is not None
        over = over or counts_otherwise(probe) is not None  # how it goes on is known
        over = over or elsewhere(probe) is not None  # and what it moves never steps
        if length and not tells_length(probe) and OFTEN not in verdict.sentence:
            continue  # of its function only this is doubted
        if length and probe.program.outcome != "returned" and steps(probe) < length and not over:
            said = (
                f"it is made for about {length} steps, and the run ended before: for what, is open."
            )
            sentence = f"{verdict.sentence} But {said}"
            return verdict.model_copy(update={"outcome": "inconclusive", "sentence": sentence})
    return verdict


def planned(probe: ProbeTrace) -> int | None:
    """The length of the one schedule that moved, where it tells it, or its function does."""
    lengths = tells_length(probe)
    said = None if probe.program.course is not None else probe.program.function_ends_after
    return lengths.pop() if len(lengths) == 1 else said


def tells_length(probe: ProbeTrace) -> set[int]:
    """The lengths that schedules which moved were given."""
    return {u.scheduled_for for u in probe.updates if u.scheduler_steps and u.scheduled_for}


def steps(probe: ProbeTrace) -> int:
    """How often it moved."""
    return sum(u.scheduler_steps for u in probe.updates)
