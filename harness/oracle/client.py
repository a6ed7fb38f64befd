"""The oracle as a warm process: started once, asked many times. No torch on this side."""

import ctypes
import gc
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Self

from harness.domain.errors import HarnessFault
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec

PR_SET_PDEATHSIG = 1


class Oracle:
    """Measures recordings in worker processes that import torch once and never run candidate code.

    What crosses to the worker are the harness's own validated records: everything that a candidate
    wrote
    was parsed from JSON and raw bytes before, so the pickling of the process pool sees nothing of
    theirs.
    """

    def __init__(self, workers: int = 1) -> None:
        """``workers``: processes; each holds torch (about 300 MB)."""
        self._pool = ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=_warm
        )

    def warm(self) -> None:
        """Start the first worker without waiting for it."""
        self._pool.submit(_ready)

    def measure(
        self, recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
    ) -> ProbeTrace:
        """Measure one recording. Raises ``HarnessFault`` when the oracle itself fails."""
        future = self._pool.submit(_measure, recording, workload, probe, expectations)
        try:
            return future.result()
        except Exception as error:
            raise HarnessFault(f"the oracle failed on probe {probe.name}: {error}") from error

    def close(self) -> None:
        """End the workers; work that has not begun is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)

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


def _warm() -> None:
    """Leave Ctrl-C to the parent, die with it, and import torch before the first question."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    torch.set_num_threads(1)
    import harness.oracle.measure  # noqa: F401 - imported for its warmth

    gc.collect()
    gc.freeze()  # or every other measurement pays for a look at all of torch


def _ready() -> bool:
    return True


def _measure(
    recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
) -> ProbeTrace:
    from harness.oracle.measure import measure

    return measure(recording, workload, probe, expectations)
