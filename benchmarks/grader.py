"""What a second call on a warm ``harness.Grader`` costs beyond the program."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import harness
from benchmarks.figures import row
from harness.domain.candidate import Candidate
from harness.domain.instruments import Executor, Instruments
from harness.domain.recording import Recording
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from harness.instruments import jail_and_oracle

CALLS = 20
AIM = 0.1
"""Seconds beyond the program."""

SAME = Path(__file__).parents[1] / "examples" / "train.py"


@dataclass(slots=True)
class Watched:
    """An executor that remembers when programs ran."""

    executor: Executor
    """The real one."""
    ran: list[tuple[float, float]] = field(default_factory=list)
    """From when to when."""

    def execute(self, candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> Recording:
        """As the real one does."""
        start = time.perf_counter()
        try:
            return self.executor.execute(candidate, workload, probe)
        finally:
            self.ran.append((start, time.perf_counter()))

    def seconds(self) -> float:
        """How long at least one program ran; then they are forgotten."""
        total, until = 0.0, 0.0
        for start, end in sorted(self.ran):
            total += max(0.0, end - max(start, until))
            until = max(until, end)
        self.ran.clear()
        return total


def main() -> None:
    """The same script again, and another one, which has failed just as well."""
    watched: list[Watched] = []

    @contextmanager
    def opened(jobs: int) -> Iterator[Instruments]:
        with jail_and_oracle(jobs) as tools:
            watched.append(Watched(tools.executor))
            yield replace(tools, executor=watched[0])

    text = SAME.read_text()
    other = text.replace("/ 4", "/ 2").replace("% 4", "% 2")
    with harness.Grader(open_instruments=opened) as grader:
        grader.grade(SAME)
        for title, given in (("the same script", SAME), ("another script", other)):
            grader.grade(given)
            watched[0].seconds()
            calls = [_call(grader, given, watched[0]) for _ in range(CALLS)]
            beyond, processor = ([one[n] for one in calls] for n in (0, 1))
            print(row(f"{title}: a call, less its programs in the jail", beyond))
            print(row(f"{title}: processor time of this process", processor))
            told = "reached" if statistics.median(beyond) < AIM else "missed"
            print(f"{title}: the aim of {AIM * 1e3:.0f} ms is {told}")


def _call(grader: harness.Grader, given: str | Path, watched: Watched) -> tuple[float, float]:
    start, processor = time.perf_counter(), time.process_time()
    grader.grade(given)
    wall = time.perf_counter() - start
    return wall - watched.seconds(), time.process_time() - processor


if __name__ == "__main__":
    main()
