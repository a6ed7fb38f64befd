"""What the program prints, and which clocks it reads."""

import io
import sys
import time
import timeit
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Literal

from harness.domain.event import ClockRead, Printed
from harness.sandbox.recorder.tape import Tape

LONGEST = 4_000
"""Characters of one text that are kept."""

MOST = 2_000
"""Texts and clock reads that are kept of one run; a chatty program is cut, not failed."""

CLOCKS = (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
    "process_time", "process_time_ns",
)  # fmt: skip


BENCHMARK = "torch.utils.benchmark.utils.timer"
"""The module of torch that measures."""

TIMEIT = "<timeit-src>"
"""File name of the loop that ``timeit`` writes around a program's statement."""


class TextStream(io.TextIOBase):
    """Stands in for a standard stream; a line (or a flush) becomes one event."""

    def __init__(self, tape: Tape, stream: Literal["stdout", "stderr"]) -> None:
        """Write to ``tape`` as ``stream``."""
        super().__init__()
        self._tape = tape
        self._stream: Literal["stdout", "stderr"] = stream
        self._pending = ""
        self._left = MOST

    encoding = "utf-8"

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Keep text until its line ends."""
        self._pending += text
        if "\n" in self._pending:
            lines, self._pending = self._pending.rsplit("\n", 1)
            self._send(lines)
        return len(text)

    def flush(self) -> None:
        """Send an unfinished line."""
        if self._pending:
            pending, self._pending = self._pending, ""
            self._send(pending)

    def _send(self, text: str) -> None:
        if self._left > 0 and text.strip():
            self._left -= 1
            self._tape.write(Printed(stream=self._stream, text=text[:LONGEST]))


class Clocks:
    """Reads of a clock by the candidate's own code; those inside torch and Lightning are theirs."""

    def __init__(self, tape: Tape, module: ModuleType) -> None:
        """Only reads from ``module`` are written."""
        self._tape = tape
        self._globals = vars(module)
        self._left = MOST

    def install(self) -> None:
        """Patch ``time`` and ``timeit``."""
        for name in CLOCKS:
            setattr(time, name, self._recorded(name, getattr(time, name)))
        before, timeit.default_timer = timeit.default_timer, time.perf_counter
        for function in (timeit.Timer.__init__, timeit.timeit, timeit.repeat):
            given = function.__defaults__ or ()  # where timeit keeps the clock it was made with
            function.__defaults__ = tuple(timeit.default_timer if d is before else d for d in given)

    def read(self, clock: str) -> None:
        """Write one read."""
        if self._left > 0:
            self._left -= 1
            self._tape.write(ClockRead(clock=clock))

    def _measures(self, caller: FrameType) -> bool:
        """Whether it is the program, or a library that measures for it."""
        inside = caller.f_globals
        if inside is self._globals or caller.f_code.co_filename == TIMEIT:
            return True
        return inside.get("__name__") == BENCHMARK

    def _recorded(self, name: str, original: Callable[[], float]) -> Callable[[], float]:
        def clock() -> float:
            if self._measures(sys._getframe(1)):
                self.read(name)
            return original()

        return clock
