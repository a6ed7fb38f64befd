"""The oracle as warm processes: started once, asked many times. No torch on this side."""

import threading
from typing import Self

from harness.allowance import lost
from harness.domain.errors import HarnessFault
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.oracle.worker import (
    Failure,
    MeasuredTooLong,
    OracleQuestion,
    Worker,
    WorkerLost,
    without_ranks,
)

SECONDS = 60.0
"""Processor time that measuring one record may take; the longest of the bank takes two."""

TRIES = 3
"""How many processes are tried: they may be killed by chance."""

LATE = f"measuring what it did took more than {SECONDS:.0f} s of processor time: train less"
FATAL = "what it did ended every process that measured it, for want of memory perhaps: train less"


class _Traceback(Exception):
    """What failed in another process."""


class Oracle:
    """Measures recordings in worker processes that import torch once and never run candidate code.

    Thread-safe. Only validated records of the harness cross to a worker. Everything that a candidate
    wrote was parsed from JSON and raw bytes before, so nothing pickles or unpickles a candidate's
    objects.
    """

    def __init__(self, workers: int = 1) -> None:
        """``workers``: processes; each holds torch (about 300 MB). None is started yet."""
        self._room = workers
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._closed = False
        self._changed = threading.Condition()

    def warm(self) -> None:
        """Start the first worker without waiting for it."""
        self._give_back(self._take())

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers' processes."""
        with self._changed:
            return tuple(worker.pid for worker in self._workers)

    def measure(
        self, recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
    ) -> ProbeTrace:
        """Measure one recording; a worker that was killed is started again. A record that takes too
        long, or ends every process that looks at it, is one of which nothing is known.

        Raises:
            HarnessFault: the oracle itself fails, or was closed meanwhile.
            CannotExecuteHere: its processes die where ``ulimit`` leaves them little.
        """
        try:
            answer = self._asked(OracleQuestion(recording, workload, probe, expectations))
        except (MeasuredTooLong, WorkerLost) as error:
            why = LATE if isinstance(error, MeasuredTooLong) else FATAL
            bare = OracleQuestion(without_ranks(recording, why), workload, probe, expectations)
            try:
                answer = self._asked(bare)
            except (MeasuredTooLong, WorkerLost) as death:  # whatever it is asked
                told = f"the oracle's process died again and again on probe {probe.name}\n{death}"
                raise lost(told.rstrip()) from death
        return _measured(answer, probe)

    def _asked(self, question: OracleQuestion) -> ProbeTrace | Failure:
        """The answer of the first worker that lives to give it."""
        for tries in range(TRIES):
            worker = self._take()
            try:
                answer = worker.ask(question, SECONDS)
            except WorkerLost:
                self._bury(worker)
                if tries == TRIES - 1 or self._closed:
                    raise
            except BaseException:  # half a question may be on its way
                self._bury(worker)
                raise
            else:
                self._give_back(worker)
                return answer
        raise AssertionError  # the last try returns or raises

    def close(self) -> None:
        """End the workers, whatever they are doing: nobody will read it."""
        with self._changed:
            self._closed = True
            workers, idle, self._idle = list(self._workers), self._idle, []
            self._changed.notify_all()
        for worker in workers:
            worker.kill()
        for worker in idle:
            self._bury(worker)

    def _take(self) -> Worker:
        with self._changed:
            self._changed.wait_for(self._has_one)
            if self._closed:
                raise HarnessFault("The oracle is closed.")
            if self._idle:
                return self._idle.pop()
            worker = Worker()
            self._workers.append(worker)
            return worker

    def _has_one(self) -> bool:
        return self._closed or bool(self._idle) or len(self._workers) < self._room

    def _give_back(self, worker: Worker) -> None:
        with self._changed:
            if not self._closed:
                self._idle.append(worker)
                self._changed.notify()
                return
        self._bury(worker)

    def _bury(self, worker: Worker) -> None:
        worker.close()
        with self._changed:
            self._workers.remove(worker)
            self._changed.notify()

    def __enter__(self) -> Self:
        """The oracle itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _measured(answer: ProbeTrace | Failure, probe: Probe) -> ProbeTrace:
    if isinstance(answer, Failure):
        sentence = f"the oracle failed on probe {probe.name}: {answer.sentence}"
        of_memory = "memory" in answer.sentence.lower()
        fault = lost(sentence) if of_memory else HarnessFault(sentence)
        raise fault from _Traceback(answer.trace)
    return answer
