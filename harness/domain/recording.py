"""The recording of one execution: raw facts, rank by rank, in the order in which they happened.

Tensors stay bytes until the oracle reads them.
"""

from dataclasses import dataclass
from typing import NamedTuple

from harness.domain.event import Event


class TensorBytes(NamedTuple):
    """One dense, contiguous tensor as it left the recorder. Some programs leave thousands, and a
    tuple crosses to the oracle in half the time of a dataclass.
    """

    name: str
    """What it is within its event: ``grad:net.0.weight``, ``input:0``."""
    dtype: str
    """``float32``, ``int64``, ... as torch prints it without the prefix."""
    shape: tuple[int, ...]
    """Sizes; ``()`` for a scalar."""
    data: bytes
    """Little-endian elements, row-major."""


class Recorded(NamedTuple):
    """An event with its tensors."""

    event: Event
    """What happened."""
    tensors: tuple[TensorBytes, ...]
    """The tensors that belong to it."""


@dataclass(frozen=True, slots=True)
class RankRecording:
    """Everything one rank wrote."""

    rank: int
    """Which rank."""
    events: tuple[Recorded, ...]
    """In order."""
    complete: bool
    """Whether the last record agrees with the count of what came before."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One execution of one candidate under one probe."""

    probe: str
    """Name of the probe."""
    ranks: tuple[RankRecording, ...]
    """One for each rank, in order; possibly incomplete."""
    problem: str | None = None
    """Why there is no complete recording (timeout, killed, broken channel, our own fault), in one
    sentence.
    """
    timed_out: bool = False
    """Whether it was ended by the clock."""
    ours: bool = False
    """Whether ``problem`` is a fault of the harness or the machine, not of the candidate."""
    wall_seconds: float = 0.0
    """Wall-clock time."""
    traffic_bytes: int | None = None
    """Bytes that ranks sent to each other, counted outside of them; ``None`` where nobody could."""
