"""When a run's time is up: its limit is wall time, without what it waited for a processor.

On a busy machine a program that could go on may have to wait for a processor for most of the time,
and is not to blame. One that sleeps, or whose ranks wait for each other, asks for no processor and
has its limit and no more.
"""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

STRETCH = 10
"""A run ends after so many times its limit, however busy the machine is."""

_PAUSE = 0.05  # seconds until use is asked for again, at the least


@dataclass(frozen=True, slots=True)
class ProcessorUse:
    """What a run had of the processors, in seconds."""

    ran: float
    """The longest that any of its processes had one: each rank has the time for itself."""
    queued: float
    """How long its threads, and the thread that reads what they send, waited for one in all."""

    @classmethod
    def of(cls, leader: int) -> Self:
        """Read it; nothing where a process is gone or the kernel keeps no such account."""
        parts = [_sum(f"/proc/{pid}/task") for pid in (leader, *_children(leader))]
        reader = _schedstat("/proc/thread-self")
        queued = reader[1] + sum(waited for _, waited in parts)
        return cls(max(ran for ran, _ in parts) / 1e9, queued / 1e9)


class Deadline:
    """The time of one run, which begins when this is made."""

    def __init__(
        self,
        seconds: float,
        use: Callable[[], ProcessorUse],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``use``: what the run had so far; asked now, and again once ``seconds`` are over."""
        self._seconds = seconds
        self._use = use
        self._clock = clock
        self._before = use()
        self._began = clock()
        self.queued = 0.0
        """Seconds that were found not to count, when it was last asked."""

    @property
    def elapsed(self) -> float:
        """Wall time since the beginning."""
        return self._clock() - self._began

    def left(self) -> float:
        """Seconds after which to ask again; 0 when the time is up."""
        elapsed = self.elapsed
        if elapsed >= self._seconds:
            self.queued = self._queued(elapsed)
        left = min(self._seconds + self.queued, STRETCH * self._seconds) - elapsed
        return max(left, _PAUSE) if left > 0 else 0.0

    def _queued(self, elapsed: float) -> float:
        """Threads wait at the same time, so the sum says too much: what was run was not waited."""
        use = self._use()
        queued, ran = use.queued - self._before.queued, use.ran - self._before.ran
        return max(0.0, min(queued, elapsed - ran))


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def _sum(folder: str) -> tuple[int, int]:
    """Of all threads of a process."""
    ran = queued = 0
    with contextlib.suppress(OSError):
        for thread in os.listdir(folder):
            used = _schedstat(f"{folder}/{thread}")
            ran, queued = ran + used[0], queued + used[1]
    return ran, queued


def _schedstat(thread: str) -> tuple[int, int]:
    """Nanoseconds on a processor, and waiting for one."""
    try:
        with open(f"{thread}/schedstat", encoding="ascii") as file:
            ran, queued, _ = file.read().split()
    except (OSError, ValueError):
        return 0, 0
    return int(ran), int(queued)
