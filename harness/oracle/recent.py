"""What was computed a while ago, by a digest of all that it was computed from.

Programs for one scenario have most of their updates in common: the first ones, and all of them where a
fault shows elsewhere.
"""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar

from harness.oracle.facts import Array

T = TypeVar("T")


class RecentValues(Generic[T]):
    """Values by digest. Where there is no room, those leave that were not asked for longest.

    Thread-safe.
    """

    def __init__(self, room: int) -> None:
        """``room``: bytes."""
        self._room = room
        self._held = 0
        self._values: OrderedDict[bytes, tuple[T, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> T | None:
        """The value, if it is still there."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def keep(self, key: bytes, value: T, size: int) -> T:
        """Keep a value of so many bytes, which is handed back."""
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self._held += size - before
            while self._held > self._room:
                self._held -= self._values.popitem(last=False)[1][1]
        return value


def digest(of: bytes, arrays: Iterable[Array]) -> bytes:
    """A digest of arrays, their types and shapes, and of something else."""
    hashed = blake2b(of, digest_size=16)
    for array in arrays:
        hashed.update(f"{array.dtype.str} {array.shape}".encode())
        hashed.update(array.tobytes())
    return hashed.digest()
