"""The receiving end of a channel: untrusted bytes in, typed frames or one sentence out.

A frame is a 4-byte and an 8-byte big-endian length, a UTF-8 JSON header and a raw payload::

    {"seq": 7, "kind": "forward", "data": {}, "tensors": [{"name", "dtype", "shape", "nbytes"}]}

The payload is the tensors' bytes one after the other. Frames are numbered from 0, and the last one,
``closed``, states how many came before it. Non-finite numbers travel as ``"NaN"``, ``"Infinity"``
and ``"-Infinity"``. Nothing is ever unpickled or evaluated.
"""

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NoReturn, TypeAlias, TypeGuard

from harness.domain.recording import JoinedTensors, TensorLayout

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""What JSON can say."""

JsonObject: TypeAlias = Mapping[str, Json]
"""A JSON object."""

CLOSED = "closed"
"""Kind of the last frame: its ``count`` is the number of frames before it."""

_Specs: TypeAlias = "dict[tuple[object, ...], TensorLayout]"

LENGTHS = struct.Struct(">IQ")
"""What a frame begins with: length of the header, length of the payload."""

LONGEST_NAME = 4_000
"""Characters of a tensor's name: it may be told."""

_ITEM_BYTES = {
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("uint16", "int16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("uint32", "int32", "float32", "complex32"), 4),
    **dict.fromkeys(("uint64", "int64", "float64", "complex64"), 8),
    "complex128": 16,
}


class ChannelCorrupt(Exception):
    """What arrived is not what a channel sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event as it arrived."""

    seq: int
    """Position in the stream, from 0."""
    kind: str
    """What happened."""
    data: JsonObject
    """The facts."""
    tensors: JoinedTensors
    """What the payload holds, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLimits:
    """How much one stream may send before it is cut."""

    header_bytes: int = 8 << 20
    """Longest header."""
    frame_bytes: int = 256 << 20
    """Longest header and payload together."""
    total_bytes: int = 512 << 20
    """Everything."""
    frames: int = 100_000
    """How many frames: each is an object here, several times as large as it was sent."""


class FrameReader:
    """The receiving side: bytes in, frames out. It never raises, whatever the bytes are."""

    def __init__(self, limits: ChannelLimits | None = None) -> None:
        self._limits = limits or ChannelLimits()
        self._buffer = bytearray()
        self._total = 0
        self._due = 0
        self._closed = False
        self._specs: _Specs = {}
        self.corrupt: ChannelCorrupt | None = None
        """Why reading stopped for good, or ``None``."""

    def feed(self, chunk: bytes | memoryview) -> list[Frame]:
        """Take the next bytes and return the frames that they complete."""
        frames: list[Frame] = []
        if self.corrupt is None:
            self._total += len(chunk)
            self._buffer += chunk
            try:
                while (frame := self._next()) is not None:
                    frames.append(frame)
                self._check_total()
            except ChannelCorrupt as corrupt:
                self.corrupt = corrupt
                self._buffer.clear()
        return [frame for frame in frames if frame.kind != CLOSED]

    def finish(self) -> str:
        """What is wrong with the stream, once no more bytes will come; empty where the record was
        closed, agree with what arrived, and nothing followed.
        """
        if self.corrupt is not None:
            return str(self.corrupt)
        if self._buffer:
            return f"The stream broke off {len(self._buffer)} bytes into frame {self._due}."
        if not self._closed:
            return f"The recording was never closed: it ended after {self._due} frames."
        return ""

    def _check_total(self) -> None:
        if self._total > self._limits.total_bytes:
            raise ChannelCorrupt(f"More than {self._limits.total_bytes} bytes were sent.")

    def _check_count(self) -> None:
        if self._due > self._limits.frames:
            raise ChannelCorrupt(f"More than {self._limits.frames} records were sent.")

    def _next(self) -> Frame | None:
        if self._closed and self._buffer:
            raise ChannelCorrupt("Bytes arrived after the recording was closed.")
        if len(self._buffer) < LENGTHS.size:
            return None
        header, payload = LENGTHS.unpack_from(self._buffer)
        if header > self._limits.header_bytes or header + payload > self._limits.frame_bytes:
            raise ChannelCorrupt(f"Frame {self._due} claims {header + payload} bytes: too long.")
        end = LENGTHS.size + header + payload
        if len(self._buffer) < end:
            return None
        with memoryview(self._buffer) as view:
            start = LENGTHS.size + header
            text, raw = bytes(view[LENGTHS.size : start]), bytes(view[start:end])
            frame = _decode(text, raw, self._due, self._specs)
        del self._buffer[:end]
        self._due += 1
        self._check_count()
        self._closed = frame.kind == CLOSED
        return frame


def _decode(header: bytes, payload: bytes, due: int, known: _Specs) -> Frame:
    try:
        fields = _DECODER.decode(header.decode())
        if b"\\ud" in header or b"\\uD" in header:  # a lone surrogate could not be written to disk
            fields = json.loads(json.dumps(fields, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise ChannelCorrupt(f"The header of frame {due} is not JSON.") from error
    match fields:
        case {"seq": int(seq), "kind": str(kind), "data": dict(data), "tensors": list(tensors)}:
            specs = tuple([_spec(tensor, due, known) for tensor in tensors])
        case _:
            raise ChannelCorrupt(f"The header of frame {due} lacks a field or has a wrong type.")
    if isinstance(seq, bool) or seq != due:
        raise ChannelCorrupt(f"A frame with another number arrived where frame {due} was due.")
    if sum(spec.nbytes for spec in specs) != len(payload):
        raise ChannelCorrupt(f"The tensors of frame {due} do not add up to its payload.")
    if kind == CLOSED and data.get("count") != due:
        raise ChannelCorrupt(f"The recording was closed at another count than {due}.")
    return Frame(seq=seq, kind=kind, data=data, tensors=JoinedTensors(specs, payload))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_DESCRIBED = itemgetter("name", "dtype", "nbytes", "shape")


def _spec(tensor: Any, due: int, known: _Specs) -> TensorLayout:
    """A tensor is checked when it is first described; a run describes the same ones at each update."""
    try:  # no pattern: it takes six times as long, and a run sends hundreds
        name, dtype, nbytes, shape = _DESCRIBED(tensor)
        said = (name, dtype, nbytes, *shape)
        found = known.get(said)
    except (KeyError, TypeError):
        raise ChannelCorrupt(f"A tensor of frame {due} is not described.") from None
    if found is None:
        found = known[said] = _checked(name, dtype, shape, nbytes, due)
    return found


def _checked(name: object, dtype: object, shape: object, nbytes: object, due: int) -> TensorLayout:
    if type(name) is not str or type(dtype) is not str:
        raise ChannelCorrupt(f"A tensor of frame {due} is not described.")
    if len(name) > LONGEST_NAME:
        raise ChannelCorrupt(f"A name in frame {due} has more than {LONGEST_NAME} characters.")
    item = _ITEM_BYTES.get(dtype)
    if item is None or not _are_sizes(shape):
        raise ChannelCorrupt(f"A tensor of frame {due} has an impossible dtype or shape.")
    if type(nbytes) is not int or nbytes != math.prod(shape) * item:
        raise ChannelCorrupt(f"A tensor of frame {due} is not as long as its shape says.")
    return TensorLayout(name, dtype, tuple(shape), nbytes)


def _are_sizes(shape: object) -> TypeGuard[list[int]]:
    if type(shape) is not list or len(shape) > 64:
        return False
    for size in shape:  # noqa: SIM110 - a generator takes twice as long
        if type(size) is not int or not 0 <= size < 1 << 48:
            return False
    return True
