"""Stands in for the jail: "runs" a program by looking at its text, in no time."""

from collections.abc import Callable

from harness.domain.candidate import Candidate
from harness.domain.event import Printed
from harness.domain.recording import RankRecording, Recorded, Recording
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec

Before = Callable[[Candidate, WorkloadSpec, Probe], None]


def nothing(_candidate: Candidate, _workload: WorkloadSpec, _probe: Probe) -> None:
    """Do nothing before an execution."""


class FakeExecutor:
    """Records one printed loss: NaN where the program says ``nan``, else 1."""

    def __init__(self, before: Before = nothing) -> None:
        """``before``: called first in every execution; what it raises, the executor raises."""
        self._before = before
        self.closed = False

    def execute(self, candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> Recording:
        """One rank, one event."""
        self._before(candidate, workload, probe)
        event = Printed(stream="stdout", text="nan" if "nan" in candidate.program else "1.0")
        rank = RankRecording(rank=0, events=(Recorded(event, ()),), complete=True)
        ours = "our fault" in candidate.program
        problem = "the machine gave up" if ours else None
        return Recording(probe=probe.name, ranks=(rank,), problem=problem, ours=ours)

    def close(self) -> None:
        """Remember it."""
        self.closed = True
