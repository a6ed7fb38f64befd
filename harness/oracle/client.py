"""The oracle as a warm process: started once, asked many times. No torch on this side."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self

from harness.domain.errors import HarnessFault
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.importing import uncollected


class Oracle:
    """Measures recordings in worker processes that import torch once and never run candidate code.

    Only validated records of the harness cross to a worker. Everything that a candidate wrote was
    parsed from JSON and raw bytes before, so the process pool never pickles or unpickles a
    candidate's objects.
    """

    def __init__(self, workers: int = 1) -> None:
        """``workers``: number of processes; each holds torch (about 300 MB)."""
        self._workers = workers
        self._pool = _pool(workers)
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Start the first worker without waiting for it."""
        self._pool.submit(_ready)

    def measure(
        self, recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
    ) -> ProbeTrace:
        """Measure one recording; workers that were killed are started again, once.

        Raises:
            HarnessFault: the oracle itself fails.
        """
        for _ in range(2):
            pool = self._pool
            try:
                return pool.submit(_measure, recording, workload, probe, expectations).result()
            except BrokenProcessPool:
                self._replace(pool)
            except Exception as error:
                raise HarnessFault(f"the oracle failed on probe {probe.name}: {error}") from error
        raise HarnessFault(f"the oracle's process died twice on probe {probe.name}")

    def close(self) -> None:
        """End the workers; work that has not begun is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _replace(self, broken: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._pool is broken:
                self._pool = _pool(self._workers)

    def __enter__(self) -> Self:
        """The oracle itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


def _pool(workers: int) -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=spawn, initializer=_warm)


def _warm() -> None:
    """Leave Ctrl-C to the parent, die with it, and import torch before the first question."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's threads wait by spinning
    with uncollected():
        import torch

        torch.set_num_threads(1)
        import harness.oracle.measure  # noqa: F401 - imported for its warmth


def _die_with_parent() -> None:
    """End this process when the one that started it is gone, however it went.

    Not by ``PR_SET_PDEATHSIG``: its parent is the *thread* that asked for this worker, and with two
    workers the second one died as soon as the pool of threads that had asked for it was done.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _ready() -> bool:
    return True


def _measure(
    recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
) -> ProbeTrace:
    from harness.oracle.measure import measure

    return measure(recording, workload, probe, expectations)
