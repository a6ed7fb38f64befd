"""The recording of one execution: raw facts, rank by rank, in the order in which they happened.

Tensors stay bytes until the oracle reads them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

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


class TensorLayout(NamedTuple):
    """How to read one tensor out of the bytes of several. One object serves all events that have it."""

    name: str
    """Its role within the event."""
    dtype: str
    """``float32``, ``int64``, ..."""
    shape: tuple[int, ...]
    """Sizes; ``()`` for a scalar."""
    nbytes: int
    """Its length; it agrees with dtype and shape."""


class JoinedTensors(Sequence[TensorBytes]):
    """Tensors that lie one after the other, cut apart where somebody looks at them: they pass from
    the executor to the oracle whole.
    """

    __slots__ = ("_found", "_payload", "described")

    def __init__(self, described: tuple[TensorLayout, ...], payload: bytes) -> None:
        """``payload``: as long as all that is described together."""
        self.described = described
        """How to cut them apart, in order."""
        self._payload = payload
        self._found: tuple[TensorBytes, ...] | None = None

    @overload
    def __getitem__(self, index: int) -> TensorBytes: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TensorBytes, ...]: ...
    def __getitem__(self, index: int | slice) -> TensorBytes | tuple[TensorBytes, ...]:
        """Those at a place."""
        if self._found is None:
            self._found = tuple(self._cut())
        return self._found[index]

    def __iter__(self) -> Iterator[TensorBytes]:
        """In order."""
        return iter(self[:])

    def __len__(self) -> int:
        """How many."""
        return len(self.described)

    def __reduce__(self) -> "tuple[type[JoinedTensors], tuple[tuple[TensorLayout, ...], bytes]]":
        """What travels: not what was cut."""
        return JoinedTensors, (self.described, self._payload)

    def _cut(self) -> Iterator[TensorBytes]:
        start = 0
        for name, dtype, shape, nbytes in self.described:
            yield TensorBytes(name, dtype, shape, self._payload[start : start + nbytes])
            start += nbytes


class Recorded(NamedTuple):
    """An event with its tensors."""

    event: Event
    """The event."""
    tensors: Sequence[TensorBytes]
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
