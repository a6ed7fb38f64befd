"""One process that measures, from both sides of its socket: ``Worker`` here, ``serve`` over there."""

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import NoReturn

from harness.collecting import collect_seldom, uncollected
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec

_SAID = 4096  # bytes of its standard error that are told


class WorkerLost(Exception):
    """The process died before it answered. The message is what it said last, if anything."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to measure."""

    recording: Recording
    """What a program did."""
    workload: WorkloadSpec
    """On what."""
    probe: Probe
    """Under which conditions."""
    expectations: Expectations
    """What a right program does there."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The oracle failed at this question."""

    sentence: str
    """The exception."""
    trace: str
    """Its traceback."""


Answer = bytes | Failure
"""A trace as JSON, which is written and read in less than the time of a pickle, or why there is none."""


class Worker:
    """A process that answers one question at a time, and may be killed at any time."""

    def __init__(self) -> None:
        """Start it, without waiting until it is warm."""
        self._mine, theirs = Pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        with theirs:
            self._process = _spawn(theirs.fileno(), self._log.fileno())

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def ask(self, question: Question) -> ProbeTrace | Failure:
        """What it measures, or how it failed.

        Raises:
            WorkerLost: it died.
        """
        try:
            with contextlib.suppress(BrokenPipeError):  # what it said before it died is there
                self._mine.send(question)
            answer: Answer = self._mine.recv()
        except (EOFError, ConnectionError) as error:
            raise WorkerLost(self._last_words()) from error
        return ProbeTrace.model_validate_json(answer) if isinstance(answer, bytes) else answer

    def kill(self) -> None:
        """End it now; whoever waits for its answer learns that it is lost. From any thread."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let go of it; not while somebody asks."""
        self.kill()
        self._mine.close()
        self._log.close()

    def _last_words(self) -> str:
        return os.pread(self._log.fileno(), _SAID, 0).decode(errors="replace").rstrip()


def _spawn(fd: int, log: int) -> "subprocess.Popen[bytes]":
    """It has the path of this process, and nothing of what ``PYTHON...`` variables wish: warnings that
    are errors would end measurements.
    """
    path = [str(Path(entry).absolute()) for entry in sys.path]
    program = (
        f"import sys; sys.path[:] = {path!a}; from harness.oracle.worker import serve; serve({fd})"
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-c", program],
        # OpenBLAS: numpy's threads wait by spinning
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OPENBLAS_NUM_THREADS": "1"},
        cwd="/",  # the current folder may go
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(fd,),
        start_new_session=True,  # a terminal's Ctrl-C is the parent's to answer
    )


def serve(fd: int) -> NoReturn:
    """Answer questions until nobody asks any more. It never returns."""
    threading.Thread(target=_die_with_asker, args=(fd,), daemon=True).start()
    asker: Connection[Answer, Question] = Connection(fd)
    try:
        measure = _warm()
        while True:
            asker.send(_answer(measure, asker.recv()))
    except (EOFError, ConnectionError):
        os._exit(0)
    except BaseException:  # noqa: BLE001 - whatever it is, the log is where the parent looks
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


Measure = Callable[[Recording, WorkloadSpec, Probe, Expectations], ProbeTrace]


def _warm() -> Measure:
    """Import torch before the first question."""
    with uncollected():  # or every other measurement pays for a look at all of torch
        import torch

        torch.set_num_threads(1)
        from harness.oracle.measure import measure
    collect_seldom()
    return measure


def _answer(measure: Measure, asked: Question) -> Answer:
    try:
        found = measure(asked.recording, asked.workload, asked.probe, asked.expectations)
        return found.model_dump_json().encode()
    except Exception as error:  # noqa: BLE001 - the asker says whose fault that is
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def _die_with_asker(fd: int) -> None:
    """End this process when the one that asks is gone, however it went, also while it measures.

    Not by ``PR_SET_PDEATHSIG``: its parent is the *thread* that asked for this worker.
    """
    watch = select.poll()
    watch.register(fd, select.POLLRDHUP)
    watch.poll()
    os._exit(1)
