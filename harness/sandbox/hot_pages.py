"""Memory pages that every run writes to, made a fork's own before its job is there.

A fork shares its memory with the zygote until it writes to it. Each first write to a page is a fault
and a copy, and a small run writes to some two thousand pages: a third of its time. A fork that waits
for its job can have them copied beforehand. Without the kernel's help nothing is gained or lost.
"""

import contextlib
import ctypes
import errno
import gc
import mmap
import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from typing import TypeAlias

Pages: TypeAlias = "array[int]"
"""Stretches of memory as the kernel takes them (``struct iovec``): first byte, number of bytes, first
byte of the next one and so on.
"""

_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, Linux 5.14
_PROCESS_MADVISE = 440  # the same number on every machine; for one's own pages since Linux 6.13
_AT_ONCE = 1024  # stretches that it takes
_EXCLUSIVE = 1 << 56
PRESENT = 1 << 63
"""Bit of an entry of ``/proc/PID/pagemap``."""
ENTRY = 8
"""Bytes of an entry."""


def learn(rehearse: Callable[[], None]) -> Pages:
    """The pages that a fork has written to once it has done ``rehearse``; none where nobody can tell."""
    gc.collect()
    gc.freeze()  # or the fork's first collection writes to every object there is
    return _shared(after(rehearse, lambda: chain.from_iterable(_written())))


def after(rehearse: Callable[[], None], tell: Callable[[], Iterable[int]]) -> "array[int]":
    """What ``tell`` says in a fork that has done ``rehearse``; nothing where it fails."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _rehearse(rehearse, tell, reading, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        found = array("Q", pipe.read())
    os.waitpid(pid, 0)
    return found


def own(pages: Pages) -> None:
    """Copy these pages now, as far as they are there."""
    libc = ctypes.CDLL(None, use_errno=True)
    me, first = os.pidfd_open(os.getpid()), 0
    while first < len(pages):
        number = min(_AT_ONCE, (len(pages) - first) // 2)
        start = ctypes.c_void_p(pages.buffer_info()[0] + first * pages.itemsize)
        size = ctypes.c_size_t(number)
        done = libc.syscall(_PROCESS_MADVISE, me, start, size, _POPULATE_WRITE, 0)
        if done < 0 and ctypes.get_errno() not in (errno.ENOMEM, errno.EFAULT):
            own_each(pages)  # an older kernel
            break
        first += 2 * _stretches(pages[first + 1 : first + 2 * number : 2], max(0, done))
    os.close(me)


def _stretches(sizes: Iterable[int], done: int) -> int:
    """How many of them ``done`` bytes are, and the one as well at which the kernel stopped."""
    ends = tuple(accumulate(sizes))
    return min(len(ends), 1 + sum(end <= done for end in ends))


def own_each(pages: Pages) -> None:
    """The same in one call a stretch, for kernels that take no more at once."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, size in zip(pages[::2], pages[1::2], strict=True):
        libc.madvise(start, size, _POPULATE_WRITE)


def _shared(found: Pages) -> Pages:
    """Without what the rehearsal had allocated for itself, which its fork alone had."""
    there = tuple(writable())
    kept = array("Q")
    for start, size in zip(found[::2], found[1::2], strict=True):
        if any(first <= start and start + size <= last for first, last in there):
            kept.extend((start, size))
    return kept


def _rehearse(
    rehearse: Callable[[], None], tell: Callable[[], Iterable[int]], reading: int, writing: int
) -> None:
    """In the fork. It never returns."""
    try:
        os.close(reading)
        rehearse()
        with contextlib.suppress(OSError), open(writing, "wb") as pipe:
            pipe.write(array("Q", tell()))
    finally:
        os._exit(0)


def _written() -> Iterator[tuple[int, int]]:
    """Stretches of private memory that this process shares with nobody."""
    page = mmap.PAGESIZE
    with open("/proc/self/pagemap", "rb", buffering=0) as map_:
        for first, last in writable():
            map_.seek(first // page * ENTRY)
            entries = array("Q", map_.read((last - first) // page * ENTRY))
            entries.append(0)
            start: int | None = None
            for place, entry in enumerate(
                entries
            ):  # one number at a time: a tuple would be written
                mine = entry & PRESENT and entry & _EXCLUSIVE
                if mine and start is None:
                    start = place
                elif not mine and start is not None:
                    yield first + start * page, (place - start) * page
                    start = None


def writable() -> Iterator[tuple[int, int]]:
    """First and last address of every private mapping that can be written to."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        lines = maps.read().splitlines()
    for line in lines:
        addresses, mode = line.split()[:2]
        if mode.startswith("rw") and mode.endswith("p"):
            first, last = (int(address, 16) for address in addresses.split("-"))
            yield first, last
