"""The machine code that programs run through, in large pages of memory, for a process that is forked
many times.

A fork does not inherit which pages of a library are in memory: each finds its way to some four hundred
stretches of torch anew, a fault for each, and its exit takes them down again. Memory of one's own is
inherited, 512 pages by one entry.
"""

import ctypes
import functools
import mmap
from array import array
from collections.abc import Callable, Iterable, Iterator

from harness.sandbox.hot_pages import ENTRY, PRESENT, after
from harness.sandbox.large_pages import COLLAPSE, SIZE

_AROUND = 16  # pages that the kernel maps at one fault on a file
_FEWEST = 2  # such stretches that are worth a large page
_MREMAP_MAYMOVE, _MREMAP_FIXED = 1, 2
_WRITTEN = mmap.PROT_READ | mmap.PROT_WRITE
_FAILED = ctypes.c_void_p(-1).value


def move(rehearse: Callable[[], None]) -> int:
    """Put what a fork runs through in ``rehearse`` into large pages; how many it became.

    They hold the same bytes, with the same rights, at the same addresses. A kernel that has no large
    page, or lets no memory be executed that once was written, leaves the libraries as they are.
    """
    return sum(_moved(start) for start in after(rehearse, lambda: _touched(tuple(_code()))))


def _code() -> Iterator[int]:
    """Where a large page would fit into the machine code of a file."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        lines = maps.read().splitlines()
    for line in lines:
        addresses, mode, _, _, inode = line.split()[:5]
        if mode == "r-xp" and inode != "0":
            first, last = (int(address, 16) for address in addresses.split("-"))
            yield from range(-(-first // SIZE) * SIZE, last - SIZE + 1, SIZE)


def _touched(places: Iterable[int]) -> Iterator[int]:
    with open("/proc/self/pagemap", "rb", buffering=0) as map_:
        for start in places:
            map_.seek(start // mmap.PAGESIZE * ENTRY)
            entries = array("Q", map_.read(SIZE // mmap.PAGESIZE * ENTRY))
            stretches = (entries[i : i + _AROUND] for i in range(0, len(entries), _AROUND))
            if sum(any(e & PRESENT for e in some) for some in stretches) >= _FEWEST:
                yield start


def _moved(start: int) -> bool:
    """Whether a copy in a large page has taken the place of the machine code that begins there."""
    libc = _libc()
    room = libc.mmap(None, 2 * SIZE, _WRITTEN, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if room == _FAILED:
        return False
    copy = -(-room // SIZE) * SIZE
    ctypes.memmove(copy, start, SIZE)
    done: bool = (
        libc.madvise(copy, SIZE, COLLAPSE) == 0  # in small pages it would cost more than it saves
        and libc.mprotect(copy, SIZE, mmap.PROT_READ | mmap.PROT_EXEC) == 0
        and libc.mremap(copy, SIZE, SIZE, _MREMAP_MAYMOVE | _MREMAP_FIXED, start) == start
    )
    for first, last in ((room, copy), (copy + SIZE * done, room + 2 * SIZE)):
        if first < last:  # and not what lay between, which may be somebody's by now
            libc.munmap(first, last - first)
    return done


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    where, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = (where, size, number, number, number, ctypes.c_long)
    libc.mremap.argtypes = (where, size, size, number, where)
    libc.mmap.restype = libc.mremap.restype = where
    libc.mprotect.argtypes = libc.madvise.argtypes = (where, size, number)
    libc.munmap.argtypes = (where, size)
    return libc
