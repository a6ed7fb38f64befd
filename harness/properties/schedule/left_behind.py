"""A schedule by hand that reaches some groups of the optimizer only."""

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import number, show

ID = "scheduler-per-update"


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
