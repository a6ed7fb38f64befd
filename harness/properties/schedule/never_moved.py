"""Schedules that move nothing, or some groups of the optimizer only."""

from collections.abc import Iterable

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.settings import never_moves_its_schedule

ID = "scheduler-per-update"


def never_moved(probes: Iterable[ProbeTrace]) -> Verdict | None:
    """A fail when the program made a schedule for the optimizer that steps, and nothing moved it."""
    probe = next(filter(never_moves_its_schedule, probes), None)
    if probe is None:
        return None
    made = probe.program.unmoved_schedules
    return failed(
        ID,
        f"In {probe.probe} a schedule ({made[0]}) was made for the optimizer that steps, and in "
        f"{count(len(probe.updates), 'update')} nothing moved it: the learning rate stays what it is "
        "at first. Call its step() where it is to move.",
        number("schedules that never move", len(made), probe.probe),
    )


def left_behind(probe: ProbeTrace) -> Verdict | None:
    """A fail when one group keeps the rate that its optimizer was built with while the rate of another,
    which differs in its weight decay alone, is set anew for update after update.
    """
    found = next((r.left_behind for r in probe.ranks if r.left_behind is not None), None)
    if found is None:
        return None
    still, lowest, highest = found
    return failed(
        ID,
        f"In {probe.probe} the learning rate of one group went from {show(lowest)} to {show(highest)}, "
        f"and that of another, which differs in its weight decay alone, stayed at {show(still)}: the "
        "schedule reaches some groups only. Set it in every group of optimizer.param_groups.",
        number("learning rate that stayed", still, probe.probe),
        number("lowest of the other", lowest, probe.probe),
        number("highest of the other", highest, probe.probe),
    )
