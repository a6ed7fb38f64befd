"""What a run works with: one instrument that executes programs, one that measures recordings."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from harness.domain.candidate import Candidate
from harness.domain.proposal import Elsewhere
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec


class Executor(Protocol):
    """Runs candidates in isolation. Called from several threads at once."""

    def execute(self, candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> Recording:
        """Execute once. Whatever the candidate does, the result is a recording."""


class Meter(Protocol):
    """Measures recordings against the truth. Called from several threads at once."""

    def measure(
        self, recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
    ) -> ProbeTrace:
        """Measure once. Raises ``HarnessFault`` when the oracle itself fails."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """Both instruments, open for the length of a run."""

    executor: Executor
    """Executes programs."""
    meter: Meter
    """Measures recordings."""
    machine_notes: tuple[str, ...] = ()
    """What the jail lacks on this machine, one sentence each."""
    elsewhere: Elsewhere | None = None
    """Judges whole answers on other machines, which is less to move than their recordings."""


OpenInstruments = Callable[[int], AbstractContextManager[Instruments]]
"""Opens the instruments for a number of parallel jobs. Closing them ends calls that are still under
way.
"""
