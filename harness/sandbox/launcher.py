"""The parent's handle on a zygote: start it, talk to it, notice its death."""

import contextlib
import itertools
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence

from harness.allowance import lost
from harness.sandbox.control import (
    DATAGRAM,
    Codec,
    Exited,
    KillRun,
    Started,
    StartJob,
    ZygoteMessage,
    ZygoteReady,
)
from harness.sandbox.jail.report import GuardName, JailReport
from harness.sandbox.job import JobLimits
from harness.sandbox.spawning import spawn

_WARM_UP_SECONDS = 120.0


class ZygoteGone(Exception):
    """The zygote died."""


class RunHandle:
    """One run, as the zygote reports on it."""

    def __init__(self, zygote: "ZygoteHandle", job: int) -> None:
        self._zygote = zygote
        self._job = job
        self._exits: queue.SimpleQueue[Exited | None] = queue.SimpleQueue()
        self._begun = threading.Event()
        self.pid: int | None = None
        """The leader, once it was forked."""

    def note(self, message: ZygoteMessage | None) -> None:
        """Take a message about this run; ``None``: the zygote is gone."""
        if isinstance(message, Started):
            self.pid = message.pid
        elif message is None or isinstance(message, Exited):
            self._exits.put(message)
        self._begun.set()

    def await_start(self) -> int:
        """Wait until there is a leader: the zygote may first import what the program needs.

        Raises:
            ZygoteGone: there will be none.
        """
        if not self._begun.wait(_WARM_UP_SECONDS) or self.pid is None:
            raise ZygoteGone
        return self.pid

    def kill(self) -> None:
        """Have every process of the run killed."""
        self._zygote.tell(KillRun(self._job))

    def wait(self, seconds: float) -> Exited | None:
        """Wait for the exit; ``None`` when it takes longer.

        Raises:
            ZygoteGone: nobody will report it any more.
        """
        try:
            exited = self._exits.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        if exited is None:
            raise ZygoteGone
        return exited


class ZygoteHandle:
    """A running zygote. Thread-safe."""

    machine: JailReport
    """The guards that this machine offers, once it is warm."""

    def __init__(self, worker: str) -> None:
        """Start it, without waiting until it is warm."""
        self._folder = tempfile.mkdtemp(prefix="run-")
        self._numbers = itertools.count(1)
        self._runs: dict[int, RunHandle] = {}
        self._lock = threading.Condition()
        self._gone = False
        self._socket, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the handle
        try:
            with child:
                self._process = spawn(child.fileno(), worker, self._folder, self._log.fileno())
        except BaseException:  # Ctrl-C too: nobody else knows of what is there
            self._discard()
            raise
        self._reader = threading.Thread(target=self._read, name="zygote-reader", daemon=True)

    def wait(self) -> None:
        """Wait until it is warm. One thread at a time.

        Raises:
            HarnessFault: it could not warm up.
        """
        if self._reader.ident is None:
            self.machine = self._await_ready()
            self._reader.start()

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""
        return not self._gone

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def start(
        self,
        limits: JobLimits,
        disabled: frozenset[GuardName],
        fds: Sequence[int],
        frameworks: tuple[str, ...] = (),
        readable: tuple[str, ...] = (),
    ) -> RunHandle:
        """Have a job run; ``fds`` are the job, the leader's channel and the ranks' channels.

        Raises:
            ZygoteGone: it died.
        """
        with self._lock:
            if self._gone:
                raise ZygoteGone
            job = next(self._numbers)
            run = self._runs[job] = RunHandle(self, job)
        start = StartJob(job, len(fds) - 2, limits, tuple(sorted(disabled)), frameworks, readable)
        try:
            socket.send_fds(self._socket, [Codec.encode(start)], list(fds))
        except OSError as error:
            self._lose()  # or the next try finds it alive, if it comes before the reader knows
            raise ZygoteGone from error
        return run

    def settle(self, seconds: float) -> bool:
        """Wait until no process of any run is left; ``False`` when that takes longer."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._runs, seconds)

    def tell(self, message: ZygoteMessage) -> None:
        """Send a message; a dead zygote needs none."""
        try:
            self._socket.send(Codec.encode(message))
        except OSError:
            self._lose()

    def close(self) -> None:
        """End it and everything that it forked; at once where nobody has waited for it."""
        if self._reader.ident is None:
            self._discard()
            return
        with contextlib.suppress(OSError):  # it may have gone by itself
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.kill()
        self._lose()
        self._reader.join()
        self._discard()

    def kill(self) -> None:
        """Kill it; its children die with it, those of the warm-up because they are of its group."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._lose()

    def _discard(self) -> None:
        if hasattr(self, "_process"):
            self.kill()
        self._socket.close()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _await_ready(self) -> JailReport:
        self._socket.settimeout(_WARM_UP_SECONDS)
        try:
            raw = self._socket.recv(DATAGRAM)
        except TimeoutError:
            said = f"it took longer than {_WARM_UP_SECONDS:.0f} s"
        else:
            message = Codec.decode(raw) if raw else None
            self._socket.settimeout(None)
            if isinstance(message, ZygoteReady):
                return JailReport.from_json(message.machine)
            said = self._last_words()
        self.kill()
        raise lost(f"The sandbox process did not warm up:\n{said}")

    def _last_words(self) -> str:
        """What it printed last, and how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5.0)
        end = os.fstat(self._log.fileno()).st_size
        said = os.pread(self._log.fileno(), 4096, max(0, end - 4096))
        text = said.decode(errors="replace").rstrip()
        return f"it ended with code {self._process.returncode}\n{text}".rstrip()

    def _read(self) -> None:
        while raw := self._receive():
            message = Codec.decode(raw)
            if isinstance(message, (Started, Exited)):
                self._deliver(message)
        self._lose()

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(DATAGRAM)
        except OSError:
            return b""

    def _deliver(self, message: Started | Exited) -> None:
        with self._lock:
            done = isinstance(message, Exited)
            run = self._runs.pop(message.job, None) if done else self._runs.get(message.job)
            self._lock.notify_all()
        if run is not None:
            run.note(message)

    def _lose(self) -> None:
        with self._lock:
            self._gone = True
            runs, self._runs = list(self._runs.values()), {}
            self._lock.notify_all()
        for run in runs:
            run.note(None)
