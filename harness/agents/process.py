"""Runs a command that somebody else wrote: limited in time, and gone with all its children."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_GRACE = 2.0
"""Seconds between asking to end and killing."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended."""

    code: int
    """Exit status; negative for a signal."""
    timed_out: bool
    """Whether it was ended for its time."""


class Processes:
    """Commands under way. Closing ends all of them and starts no more."""

    def __init__(self) -> None:
        """None yet."""
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether they were ended from here."""
        return self._closed

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        files: tuple[Path, Path, Path],
        seconds: float,
    ) -> CommandEnd:
        """Run it in ``folder`` with standard input, output and errors in three files.

        Raises:
            OSError: it cannot be started.
        """
        given, out, errors = files
        with given.open("rb") as stdin, out.open("wb") as stdout, errors.open("wb") as stderr:
            process = self._start(
                command, cwd=folder, env=environment, stdin=stdin, stdout=stdout, stderr=stderr
            )
        try:
            return CommandEnd(process.wait(seconds), timed_out=False)
        except subprocess.TimeoutExpired:
            _end(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            return CommandEnd(process.returncode or -signal.SIGKILL, timed_out=True)
        finally:
            _end(process, signal.SIGKILL)  # its children too, when it has ended itself
            process.wait()
            with self._lock:
                self._running.discard(process)

    def close(self) -> None:
        """End all that run."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _end(process, signal.SIGKILL)

    def _start(self, command: Sequence[str], **how: object) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise InterruptedError
            process: subprocess.Popen[bytes] = subprocess.Popen(
                list(command),
                start_new_session=True,
                **how,  # type: ignore[call-overload]  # one overload for each pair of pipes
            )
            self._running.add(process)
        return process


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """The whole group: its leader has its own id as long as anyone is left in it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)
