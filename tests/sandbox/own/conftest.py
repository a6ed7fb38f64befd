"""What a program in a world of its own was seen to do."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.domain.candidate import Candidate
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure

PROBE = Probe(name="own", lifts="", own_data=True)


@dataclass(frozen=True)
class Seen:
    """What a program in its own world was seen to do."""

    trace: ProbeTrace

    @property
    def outcome(self) -> str:
        return f"{self.trace.program.outcome}: {self.trace.program.message}"

    @property
    def lent(self) -> str:
        return "\n".join(self.trace.program.bound)

    @property
    def printed(self) -> str:
        return "".join(self.trace.program.texts)

    @property
    def windows(self) -> list[int]:
        return [update.window_size for update in self.trace.updates]

    @property
    def ratios(self) -> list[float]:
        """What the optimizer consumed over what was computed, update by update."""
        matches = (update.match("as-computed") for update in self.trace.updates)
        return [round(m.ratio, 4) for m in matches if m is not None]


@pytest.fixture(scope="session")
def see(executor) -> Callable[..., Seen]:
    def see(program: str, ranks: int = 1, folder: Path | None = None) -> Seen:
        workload = WorkloadSpec.model_validate(
            {"name": "mlp", "parameters": {}, "world_size": ranks}
        )
        candidate = Candidate(
            program=textwrap.dedent(program), origin="test", folder=str(folder or "")
        )
        recording = executor.execute(candidate, workload, PROBE)
        expectations = Expectations(objectives=("as-computed",))
        return Seen(measure(recording, workload, PROBE, expectations))

    return see
