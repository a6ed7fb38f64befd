"""The sending end of a channel: an append-only stream of frames out of the jail.

The layout of a frame is drawn in ``frames.py``. Give :class:`Channel` one end of a socket pair, not
of a pipe: whoever holds the write end of a pipe can open it for reading through ``/proc/self/fd``
and so unsay what was already sent.
"""

import contextlib
import json
import math
import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from harness.sandbox.frames import CLOSED, LENGTHS, Json, JsonObject

Blob: TypeAlias = tuple[str, str, Sequence[int], bytes | bytearray | memoryview]
"""A tensor to send: name, dtype as torch prints it without the prefix, shape, C-order bytes."""

_Vector: TypeAlias = bytes | memoryview

_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_VECTORS = 512  # IOV_MAX is 1024 on Linux


class Channel:
    """The sending side, for any number of threads."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.RLock()
        self._outbox: deque[tuple[str, JsonObject, Sequence[Blob]]] = deque()
        self._writing = False
        self._closed = False
        self._count = 0

    @property
    def count(self) -> int:
        """How many frames have left."""
        return self._count

    def send(self, kind: str, data: JsonObject, tensors: Sequence[Blob] = ()) -> None:
        """Send one frame; it has left this process when this returns. A closed record takes no more.

        Only when called in the middle of another send of the same thread (the garbage collector may
        run a finaliser that prints) the frame leaves just after that one instead.
        """
        with self._lock:
            if self._writing:
                tensors = [(name, dtype, shape, bytes(raw)) for name, dtype, shape, raw in tensors]
            if self._closed:
                return
            self._outbox.append((kind, data, tensors))
            if not self._writing:
                self._drain()

    def close_record(self) -> None:
        """Send the last frame, which says how many came before it."""
        with self._lock:
            self.send(CLOSED, {"count": self._count})
            self._closed = True  # a thread that the program left behind may still print

    def close(self) -> None:
        """Close the record and hang up, so that whoever listens need not wait for the process's end."""
        self.close_record()
        with contextlib.suppress(OSError):  # the program found it and closed it
            os.close(self._fd)

    def _drain(self) -> None:
        self._writing = True
        try:
            while self._outbox:
                kind, data, tensors = self._outbox.popleft()
                vectors = _encode(self._count, kind, data, tensors)
                self._count += 1
                _write_all(self._fd, vectors)
        finally:
            self._writing = False


def _encode(seq: int, kind: str, data: JsonObject, tensors: Sequence[Blob]) -> list[_Vector]:
    raws = [_flat(raw) for _, _, _, raw in tensors]
    specs = [
        _spec(name, dtype, tuple(shape), len(raw))
        for (name, dtype, shape, _), raw in zip(tensors, raws, strict=True)
    ]
    header = {"seq": seq, "kind": kind, "data": data}
    try:
        begin = _ENCODER.encode(header)
    except ValueError:
        begin = _ENCODER.encode({**header, "data": _spell_out(data)})
    text = f'{begin[:-1]},"tensors":[{",".join(specs)}]}}'.encode()
    lengths = LENGTHS.pack(len(text), sum(map(len, raws)))
    return [lengths + text, *(raw for raw in raws if len(raw))]


@lru_cache(maxsize=4096)
def _spec(name: str, dtype: str, shape: tuple[int, ...], nbytes: int) -> str:
    return _ENCODER.encode({"name": name, "dtype": dtype, "shape": shape, "nbytes": nbytes})


def _flat(raw: bytes | bytearray | memoryview) -> _Vector:
    if isinstance(raw, bytes):
        return raw
    view = memoryview(raw)
    return view.cast("B") if view.nbytes else b""


def _spell_out(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _spell_out(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spell_out(item) for item in value]
    return value


def _write_all(fd: int, vectors: list[_Vector]) -> None:
    while vectors:
        sent = os.writev(fd, vectors[:_VECTORS])
        while vectors and sent >= len(vectors[0]):
            sent -= len(vectors.pop(0))
        if sent:
            vectors[0] = memoryview(vectors[0])[sent:]
