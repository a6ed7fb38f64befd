"""The recording of one execution: raw facts, rank by rank, in the order in which they happened.

Tensors stay bytes until the oracle reads them.
"""

from dataclasses import dataclass
from typing import NamedTuple

from harness.domain.event import Event


class TensorBytes(NamedTuple):
    """One dense, contiguous tensor as it left the recorder. A named tuple, because some programs
    leave thousands and a tuple is sent to the oracle in half the time of a dataclass.
    """

    name: str
    """Its role within the event: ``grad:net.0.weight``, ``input:0``."""
    dtype: str
    """``float32``, ``int64``, ... as torch prints it without the prefix."""
    shape: tuple[int, ...]
    """Its sizes; ``()`` for a scalar."""
    data: bytes
    """Little-endian elements, row-major."""


class Recorded(NamedTuple):
    """An event with its tensors."""

    event: Event
    """The event."""
    tensors: tuple[TensorBytes, ...]
    """The tensors that belong to it."""


@dataclass(frozen=True, slots=True)
class RankRecording:
    """Everything that one rank recorded."""

    rank: int
    """Number of the rank."""
    events: tuple[Recorded, ...]
    """In order."""
    complete: bool
    """Whether the final record confirms how many records came before it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One execution of one candidate under one probe."""

    probe: str
    """Name of the probe."""
    ranks: tuple[RankRecording, ...]
    """The ranks, in order; some may be missing."""
    problem: str | None = None
    """Why the recording is not complete, in one sentence: a timeout, a kill, a broken channel, a
    fault of the harness.
    """
    timed_out: bool = False
    """Whether it was ended at its time limit."""
    ours: bool = False
    """Whether ``problem`` is a fault of the harness or the machine, not of the candidate."""
    wall_seconds: float = 0.0
    """Wall-clock time."""
    traffic_bytes: int | None = None
    """Bytes that the ranks sent to each other, counted outside the jail; ``None`` where they could
    not be.
    """
