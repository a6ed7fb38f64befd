"""The oracle's processes: who starts them, who ends them, and what a death costs."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.domain.candidate import Candidate
from harness.domain.errors import HarnessFault
from harness.oracle.client import Oracle
from tests.fakes.executor import FakeExecutor
from tests.fakes.runs import eventually, is_gone
from tests.quality.judging import SCENARIOS

CLIP = SCENARIOS["clip-after-step"]
PROBE = CLIP.probes[0]
RECORDING = FakeExecutor().execute(Candidate(program="pass", origin="test"), CLIP.workload, PROBE)


def ask(oracle: Oracle) -> str:
    """Measure something small."""
    return oracle.measure(RECORDING, CLIP.workload, PROBE, CLIP.expectations).probe


@pytest.mark.full
def test_workers_outlive_the_threads_that_asked_for_them() -> None:
    """With two workers the second one died with its thread, and closing the oracle hung."""
    with Oracle(workers=2) as oracle:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: ask(oracle), range(8)))
        started = oracle.pids

        assert len(started) == 2
        assert ask(oracle) == PROBE.name
        assert oracle.pids == started


@pytest.mark.full
def test_a_worker_that_was_killed_is_started_again() -> None:
    """By the kernel, say, when memory is short: no answer of a batch is lost by it."""
    with Oracle() as oracle:
        ask(oracle)
        (worker,) = oracle.pids
        os.kill(worker, signal.SIGKILL)

        assert ask(oracle) == PROBE.name
        assert worker not in oracle.pids


@pytest.mark.full
def test_closing_does_not_wait_for_a_measurement() -> None:
    """Ctrl-C in the middle of a long one. A worker that was stopped would never come to its end."""
    with ThreadPoolExecutor(1) as threads, Oracle() as oracle:
        ask(oracle)
        (worker,) = oracle.pids
        os.kill(worker, signal.SIGSTOP)
        asked = threads.submit(ask, oracle)
        oracle.close()

        assert is_gone(worker)
        with pytest.raises(HarnessFault, match="closed"):
            asked.result()


def test_a_closed_oracle_starts_no_worker() -> None:
    """Stories that were under way at Ctrl-C still ask."""
    oracle = Oracle()
    oracle.close()
    with pytest.raises(HarnessFault, match="closed"):
        ask(oracle)

    assert not oracle.pids


def test_what_makes_a_measurement_fail_is_told_with_its_place() -> None:
    """The exception was another process's: its traceback is the cause."""
    with Oracle() as oracle:
        with pytest.raises(HarnessFault, match="AttributeError") as caught:
            oracle.measure(RECORDING, None, PROBE, CLIP.expectations)  # it has to fail

        assert "harness/oracle/measure.py" in str(caught.value.__cause__)
        assert ask(oracle) == PROBE.name


ABANDONED = """
import os, signal
from tests.oracle.test_client import Oracle, ask
if __name__ == "__main__":
    oracle = Oracle()
    ask(oracle)
    print(*oracle.pids, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.full
def test_workers_die_with_a_parent_that_was_killed(tmp_path) -> None:
    """Nobody is left to tell them."""
    script = tmp_path / "abandoned.py"
    script.write_text(ABANDONED)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        check=False,
    )
    (worker,) = map(int, done.stdout.split())

    assert eventually(lambda: is_gone(worker))
