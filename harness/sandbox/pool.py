"""The parent's side of the sandbox: jobs in, raw recordings out, at most one job a core."""

import contextlib
import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from harness.allowance import lost
from harness.domain.errors import CannotExecuteHere, HarnessFault
from harness.sandbox.attempt import run_once
from harness.sandbox.jail.report import JailPolicy, JailReport
from harness.sandbox.job import Job, JobLimits
from harness.sandbox.launcher import ZygoteGone, ZygoteHandle
from harness.sandbox.raw_recording import RawRecording

__all__ = ["Job", "JobLimits", "RawRecording", "Sandbox"]

TRIES = 3
"""Zygotes that one job is given: two may be killed by chance."""


class Sandbox:
    """Runs jobs in jailed forks of one warm process, which starts with the first job or before.

    Thread-safe; a context manager. A zygote that died is started again, twice for each job.
    """

    def __init__(
        self,
        *,
        worker: str = "harness.sandbox.worker",
        parallel: int | None = None,
    ) -> None:
        """``parallel``: jobs at the same time; ``None`` for one on each core.

        Raises:
            CannotExecuteHere: this is not Linux.
        """
        if sys.platform != "linux":
            raise CannotExecuteHere(
                "Running candidates needs Linux (namespaces, Landlock and seccomp); grading, "
                "comparing and reporting stored traces works here."
            )
        cores = parallel or len(os.sched_getaffinity(0))
        self._worker = worker
        self._threads = ThreadPoolExecutor(cores, thread_name_prefix="sandbox")
        self._lock = threading.Lock()
        self._zygote: ZygoteHandle | None = None
        self._closed = False

    def start(self) -> None:
        """Have the zygote warm up while the caller does something else."""
        with self._lock:
            if self._zygote is None and not self._closed:
                self._zygote = ZygoteHandle(self._worker)

    def execute(
        self, job: Job, limits: JobLimits | None = None, policy: JailPolicy | None = None
    ) -> RawRecording:
        """Run one job to its end.

        Raises:
            HarnessFault: the zygote does not start, or died three times under this job.
            CannotExecuteHere: the same, where ``ulimit`` leaves it little.
        """
        return self.submit(job, limits, policy).result()

    def submit(
        self, job: Job, limits: JobLimits | None = None, policy: JailPolicy | None = None
    ) -> "Future[RawRecording]":
        """Queue one job; see ``concurrent.futures`` for what can be done with the future.

        ``policy`` is for the tests of the jail alone.
        """
        return self._threads.submit(self._run, job, limits or JobLimits(), policy or JailPolicy())

    def settle(self, seconds: float = 5.0) -> bool:
        """Wait until nothing is left of any job: a record is closed a moment before their process."""
        return self._warm().settle(seconds)

    def machine(self) -> JailReport:
        """Say which guards this machine offers, found out by putting all of them up once."""
        return self._warm().machine

    def close(self) -> None:
        """End the zygote and everything that it forked; jobs in flight fail."""
        with self._lock:
            self._closed = True
            zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.close()
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _run(self, job: Job, limits: JobLimits, policy: JailPolicy) -> RawRecording:
        """Once more, where its time was up and it had not had the processor."""
        first = self._attempt(job, limits, policy)
        again = first.inconclusive_timeout and not first.waited
        return self._attempt(job, limits, policy) if again else first

    def _attempt(self, job: Job, limits: JobLimits, policy: JailPolicy) -> RawRecording:
        for _ in range(TRIES):
            with contextlib.suppress(ZygoteGone):
                run = run_once(self._warm(), job, limits, policy)
                if run.began or run.timed_out:
                    return run
        raise lost("The sandbox process died three times while running one job.")

    def _warm(self) -> ZygoteHandle:
        with self._lock:
            if self._closed:
                raise HarnessFault("The sandbox is closed.")
            if self._zygote is not None and not self._zygote.alive:
                self._zygote.close()
                self._zygote = None
            if self._zygote is None:
                self._zygote = ZygoteHandle(self._worker)
            self._zygote.wait()
            return self._zygote
