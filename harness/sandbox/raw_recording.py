"""What came out of one run: frames as they arrived, and how every process ended. No opinion."""

from dataclasses import dataclass

from harness.sandbox.frames import Frame
from harness.sandbox.jail.report import JailReport

_SPENT = 0.8
_IDLE = 0.1  # a busy program gets more than this of one processor, even where ten others want it


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRank:
    """One rank."""

    rank: int
    """Number of the rank."""
    frames: tuple[Frame, ...]
    """What the worker sent, in order, up to the first flaw."""
    complete: bool
    """Whether the record was closed and agrees with what arrived."""
    flaw: str
    """What is wrong with the stream, in one sentence; empty when nothing is."""
    exit_code: int | None
    """Exit code, unless a signal ended it or nobody saw it end."""
    signal: int | None
    """The signal that ended it."""
    jail: JailReport | None
    """Its guards; ``None`` when it never got as far."""
    fault: str
    """Traceback of a failure of ours in the child; empty when there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecording:
    """One run of one job."""

    ranks: tuple[RawRank, ...]
    """In order."""
    wall_seconds: float
    """From the fork to the exit of the last process."""
    queued_seconds: float = 0.0
    """Of these, what a run that went past its limit had waited for a processor."""
    cpu_seconds: float | None
    """Processor time of all processes together; ``None`` where the record was closed before
    anybody saw them end.
    """
    wall_limit_seconds: float
    """After which it would have been killed, if it had not had to wait for a processor."""
    cpu_limit_seconds: float
    """Processor time at which a process is ended."""
    timed_out: bool
    """Whether the clock ended it: the wall clock, or its limit of processor time."""
    traffic_bytes: int | None = None
    """What the ranks sent to each other, counted by the leader; ``None`` where nobody could."""

    @property
    def complete(self) -> bool:
        """Whether the record of every rank is closed."""
        return all(rank.complete for rank in self.ranks)

    @property
    def began(self) -> bool:
        """Whether every rank got as far as its jail, or said why not: before that it is our loss."""
        return all(rank.jail is not None or rank.fault for rank in self.ranks)

    @property
    def cpu_was_spent(self) -> bool:
        """Whether one processor was busy for most of the time that was granted."""
        return (self.cpu_seconds or 0.0) >= _SPENT * min(
            self.wall_limit_seconds, self.cpu_limit_seconds
        )

    @property
    def inconclusive_timeout(self) -> bool:
        """Timed out without having had the processor: the machine may be to blame."""
        return self.timed_out and not self.cpu_was_spent

    @property
    def waited(self) -> bool:
        """Timed out and hardly asked for a processor: it sleeps, or its threads or ranks wait for each
        other.
        """
        own = self.wall_seconds - self.queued_seconds
        return self.inconclusive_timeout and (self.cpu_seconds or 0.0) < _IDLE * own
