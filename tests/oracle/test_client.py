"""The oracle's processes: who starts them, who ends them, and what a death costs."""

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.domain.candidate import Candidate
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


def workers() -> set[int]:
    """Process ids of the workers that live."""
    return {p.pid for p in multiprocessing.active_children() if p.pid is not None}


def test_workers_outlive_the_threads_that_asked_for_them() -> None:
    """With two workers the second one died with its thread, and closing the oracle hung."""
    before = workers()
    with Oracle(workers=2) as oracle:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: ask(oracle), range(8)))
        started = workers() - before

        assert len(started) == 2
        assert ask(oracle) == PROBE.name
        assert workers() - before == started


def test_a_worker_that_was_killed_is_started_again() -> None:
    """By the kernel, say, when memory is short: no answer of a batch is lost by it."""
    before = workers()
    with Oracle() as oracle:
        ask(oracle)
        (worker,) = workers() - before
        os.kill(worker, signal.SIGKILL)
        assert eventually(lambda: is_gone(worker))

        assert ask(oracle) == PROBE.name


ABANDONED = """
import os, signal
from tests.oracle.test_client import Oracle, ask, workers
if __name__ == "__main__":
    oracle = Oracle()
    ask(oracle)
    print(*workers(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


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
