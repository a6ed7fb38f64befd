"""A schedule that is made and never moved: every rate stays what it was at first."""

from collections.abc import Iterable

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number
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
