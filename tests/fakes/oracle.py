"""Stands in for the oracle: passes on what the recording says, and measures nothing else."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from harness.domain.event import Printed
from harness.domain.instruments import Instruments
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import BackwardSeen, ProbeTrace, Program, RankTrace
from harness.domain.workload import WorkloadSpec
from tests.fakes.executor import FakeExecutor


class FakeMeter:
    """Takes printed numbers for losses of backward, and says what was a failure of ours."""

    def measure(
        self, recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
    ) -> ProbeTrace:
        """A trace with backwards and no updates."""
        return ProbeTrace(
            probe=probe.name,
            world_size=workload.world_size,
            workload=workload.name,
            program=_program(recording),
            ranks=(_rank(recording),),
            ranks_disagree=None,
            segments=(),
            learning=None,
        )


def opens(
    executor: FakeExecutor, *notes: str
) -> Callable[[int], AbstractContextManager[Instruments]]:
    """What ``run_bank`` and the CLI take in place of the jail and the oracle."""

    @contextmanager
    def open_fakes(_jobs: int) -> Iterator[Instruments]:
        try:
            yield Instruments(executor, FakeMeter(), notes)
        finally:
            executor.close()

    return open_fakes


def _program(recording: Recording) -> Program:
    return Program(
        outcome="not-completed" if recording.problem else "returned",
        exception=None,
        message=recording.problem,
        line=None,
        during=None,
        ours=recording.ours,
        texts=(),
        reported_before_backward=None,
    )


def _rank(recording: Recording) -> RankTrace:
    events = [recorded.event for rank in recording.ranks for recorded in rank.events]
    backwards = tuple(
        BackwardSeen(loss=float(event.text), gradients_finite=True, after_update=0)
        for event in events
        if isinstance(event, Printed)
    )
    return RankTrace(
        rank=0,
        updates=(),
        backwards=backwards,
        scaler=(),
        batches_yielded=1,
        batches_lost=0,
        lost_at_end=0,
        implicit_updates=0,
    )
