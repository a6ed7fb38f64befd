"""The parent's side of the sandbox: jobs in, raw recordings out, at most one job a core."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Self

from harness.allowance import lost
from harness.domain.errors import CannotExecuteHere, HarnessFault
from harness.sandbox.attempt import run_once
from harness.sandbox.jail.report import JailPolicy, JailReport
from harness.sandbox.job import Job, JobLimits
from harness.sandbox.launcher import ZygoteGone, ZygoteHandle
from harness.sandbox.raw_recording import RawRecording
from harness.sandbox.warm_up import frameworks_of

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
        self._slots = _Slots(cores)
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
        """Run one job to its end. Packages that it needs are imported first, while others run.

        Raises:
            HarnessFault: the zygote does not start, or died three times under this job.
            CannotExecuteHere: the same, where ``ulimit`` leaves it little.
        """
        if needed := frameworks_of(job.program):
            with contextlib.suppress(ZygoteGone):
                self._warm().prepare(needed)
        return self.submit(job, limits, policy).result()

    def submit(
        self, job: Job, limits: JobLimits | None = None, policy: JailPolicy | None = None
    ) -> "Future[RawRecording]":
        """Queue one job; see ``concurrent.futures`` for what can be done with the future.

        ``policy`` is for the tests of the jail alone.
        """
        return self._threads.submit(self._run, job, limits or JobLimits(), policy or JailPolicy())

    def settle(self, seconds: float = 5.0) -> bool:
        """Wait until nothing is left of any job: books are closed a moment before their process."""
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _run(self, job: Job, limits: JobLimits, policy: JailPolicy) -> RawRecording:
        with self._slots.shared():
            first = self._attempt(job, limits, policy)
        if not first.inconclusive_timeout:
            return first
        with self._slots.alone():
            return replace(self._attempt(job, limits, policy), attempts=2)

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


class _Slots:
    """Room for so many jobs at once, or for one that has the machine to itself and goes first."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._free = number
        self._loners = 0
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Take one place."""
        with self._changed:
            self._changed.wait_for(lambda: self._free >= 1 and not self._loners)
            self._free -= 1
        with self._given_back(1):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Take all places."""
        with self._changed:
            self._loners += 1
            self._changed.wait_for(lambda: self._free == self._number)
            self._loners -= 1
            self._free = 0
        with self._given_back(self._number):
            yield

    @contextlib.contextmanager
    def _given_back(self, places: int) -> Iterator[None]:
        try:
            yield
        finally:
            with self._changed:
                self._free += places
                self._changed.notify_all()
