"""One process that measures, from both sides of its socket: ``Worker`` here, ``serve`` over there."""

import contextlib
import os
import resource
import select
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import NoReturn

from harness.collecting import collect_seldom, uncollected
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.extensions import load_where_told, variables

POLL = 1.0
"""Seconds between two looks at how much time a measurement took."""

_SAID = 4096  # bytes of its standard error that are told


UNFIT = (ValueError, LookupError, ArithmeticError, RuntimeError, MemoryError, TypeError)
"""What numbers, types and sizes that do not fit each other raise. A program shares its process with what
records it, so any record may hold such; an error of another kind is the oracle's own.
"""

MEMORY = 8 << 30
"""Bytes that a process may take for one record."""


class WorkerLost(Exception):
    """The process died before it answered. The message is what it said last, if anything."""


class MeasuredTooLong(Exception):
    """The process used the time that one record may take."""


@dataclass(frozen=True, slots=True)
class OracleQuestion:
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


WorkerAnswer = bytes | Failure
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

    def ask(self, question: OracleQuestion, seconds: float) -> ProbeTrace | Failure:
        """What it measures, or how it failed. ``seconds``: processor time that it may take for it.

        Raises:
            WorkerLost: it died.
            TooLong: it is still at it, and good for nothing else.
        """
        try:
            with contextlib.suppress(BrokenPipeError):  # what it said before it died is there
                self._mine.send(question)
            began = self._processor_time()
            while not self._mine.poll(POLL):
                if self._processor_time() - began > seconds:
                    raise MeasuredTooLong
            answer: WorkerAnswer = self._mine.recv()
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

    def _processor_time(self) -> float:
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # it is gone, which the connection says too
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _last_words(self) -> str:
        return os.pread(self._log.fileno(), _SAID, 0).decode(errors="replace").rstrip()


_SET = {"CUDA_VISIBLE_DEVICES": "", "OPENBLAS_NUM_THREADS": "1"}
"""It compiles nothing either: told of no folder that exists, torch would make one and leave it."""


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
        env=os.environ | variables() | _SET | {"TORCHINDUCTOR_CACHE_DIR": tempfile.gettempdir()},
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
    asker: Connection[WorkerAnswer, OracleQuestion] = Connection(fd)
    try:
        measure = _warm()
        _bound_memory()
        while True:
            asker.send(answer_to(measure, asker.recv()))
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

        load_where_told()
    collect_seldom()
    return measure


def answer_to(measure: Measure, asked: OracleQuestion) -> WorkerAnswer:
    """What is measured, or that the record holds what does not fit."""

    def of(recording: Recording) -> bytes:
        found = measure(recording, asked.workload, asked.probe, asked.expectations)
        return found.model_dump_json().encode()

    try:
        try:
            return of(asked.recording)
        except UNFIT as error:
            said = f"{type(error).__name__}: {error}".partition("\n")[0]
            return of(without_ranks(asked.recording, f"the record is malformed ({said})"))
    except Exception as error:  # noqa: BLE001 - the asker says whose fault that is
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def without_ranks(recording: Recording, why: str) -> Recording:
    """A recording of which nothing can be measured."""
    return replace(recording, ranks=(), problem=why, ours=False)


def _bound_memory() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > MEMORY:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))


def _die_with_asker(fd: int) -> None:
    """End this process when the one that asks is gone, however it went, also while it measures.

    Not by ``PR_SET_PDEATHSIG``: its parent is the *thread* that asked for this worker.
    """
    watch = select.poll()
    watch.register(fd, select.POLLRDHUP)
    watch.poll()
    os._exit(1)
