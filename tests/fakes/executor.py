"""Stands in for the jail: "runs" a program by looking at its text, in no time."""

import signal
import threading
from collections.abc import Callable

from harness.domain.candidate import Candidate
from harness.domain.event import OptimizerStep, Printed
from harness.domain.recording import RankRecording, Recorded, Recording
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from tests.fakes.patience import PATIENCE

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


class LateExecutor(FakeExecutor):
    """The clock ends each of its executions, before anything was recorded or after some updates."""

    def __init__(self, updates: int = 0) -> None:
        """Nothing was executed yet."""
        super().__init__()
        self.programs: list[str] = []
        step = OptimizerStep(optimizer=0, type="SGD", groups=())
        events = (Recorded(step, ()),) * updates
        self._ranks = (RankRecording(rank=0, events=events, complete=False),) * bool(updates)

    def execute(self, candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> Recording:
        """Remember the program."""
        self.programs.append(candidate.program)
        late = "the program was still running"
        return Recording(probe=probe.name, ranks=self._ranks, problem=late, timed_out=True)


class BusyExecutor(FakeExecutor):
    """On a machine that gives no program its time, but where it takes as long as the sandbox allows."""

    def execute(self, candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> Recording:
        """A record, or that it ran out of a time of the caller's."""
        if probe.seconds is None:
            return super().execute(candidate, workload, probe)
        late = "the program was still running"
        return Recording(probe=probe.name, ranks=(), problem=late, timed_out=True, ours=True)


class InterruptedExecutor(FakeExecutor):
    """Sends Ctrl-C in its n-th execution, which stays until the executor is closed.

    So do those that begin before the main thread has taken notice, as in the jail.
    """

    def __init__(self, at: int) -> None:
        """``at``: in which execution, counted from 1."""
        super().__init__(self._interrupt)
        self._at = at
        self._released = threading.Event()
        self._one_at_a_time = threading.Lock()
        self.executions = 0

    def close(self) -> None:
        """What stayed ends, as in a jail that is closed under it."""
        super().close()
        self._released.set()

    def _interrupt(self, *_: object) -> None:
        with self._one_at_a_time:
            self.executions += 1
            begun = self.executions
        if begun == self._at:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if begun >= self._at:
            assert self._released.wait(PATIENCE), "closing did not reach the call under way"
            raise ConnectionError("closed")
