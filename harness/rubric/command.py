"""A judge that is somebody's program: the question on standard input, JSON on standard output."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from harness.domain.errors import UsageError
from harness.domain.model import Completion, Tool, Turn, Unavailable
from harness.domain.transcript import Usage

_MOST = 1_000_000  # bytes of a reply that are read


@dataclass(frozen=True, slots=True)
class CommandModel:
    """Runs a command for each question. No shell sees it, and it is ended after its time."""

    line: str
    """The command as it was given."""
    words: tuple[str, ...]
    """The command line, split into words."""
    seconds: float
    """Seconds that it may take for one question."""

    @property
    def name(self) -> str:
        """``command:...``."""
        return f"command:{self.line}"

    def complete(
        self, system: str, turns: Sequence[Turn], *, max_tokens: int, tools: Sequence[Tool] = ()
    ) -> Completion:
        """What it prints.

        Raises:
            Unavailable: it cannot be started, fails, takes too long or prints no text.
        """
        del max_tokens, tools
        asked = "\n\n".join([system, *(turn.text for turn in turns)])
        text = self._run(asked.encode("utf-8", errors="replace"))
        return Completion(model=self.name, text=text, usage=Usage(), cost=None)

    def _run(self, asked: bytes) -> str:
        try:
            process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable("connection", f"{self.line}: {error.strerror}") from error
        with process:
            try:
                out, _ = process.communicate(asked, timeout=self.seconds)
            except subprocess.TimeoutExpired:
                sentence = f"{self.line} did not reply within {self.seconds:g} s"
                raise Unavailable("timeout", sentence) from None
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # its children too
        if process.returncode:
            sentence = f"{self.line} ended with status {process.returncode}"
            raise Unavailable("bad_response", sentence)
        return out[:_MOST].decode("utf-8", errors="replace")


def commanded(line: str, seconds: float) -> CommandModel:
    """The judge behind a command line.

    Raises:
        UsageError: it is empty, or names no program.
    """
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"--judge command:{line}: {str(error).lower()}") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"--judge command:{line}: there is no program {words[0] if words else ''}")
    return CommandModel(line, words, seconds)
