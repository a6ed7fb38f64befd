"""Parameters that end as NaN in a run as it is, on the program's own data: nobody means that."""

from harness.domain.own import SHORTER, lent
from harness.domain.regimes import AS_IT_IS
from harness.domain.trace import Trace


def is_ruined(trace: Trace) -> bool:
    """Whether an update left parameters that are not finite, and nothing that was lent can be why."""
    for probe in trace.probes:
        made = [note for note in lent(probe.program.bound) if not note.startswith(SHORTER)]
        if probe.probe == AS_IT_IS.name and not made:
            return not all(u.parameters_finite for rank in probe.ranks for u in rank.updates)
    return False
