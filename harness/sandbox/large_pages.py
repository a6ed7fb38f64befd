"""Python's objects in large pages, for a process that is forked many times.

A fork copies the table of its parent's pages and its exit takes the copy down, page by page. The
allocator of Python takes its memory from the kernel by itself, so that what makes glibc use large
pages does not reach it.
"""

import ctypes
import mmap
from array import array

from harness.sandbox.hot_pages import ENTRY, PRESENT, writable

SIZE = 2 << 20
"""Bytes of a large page, on the machines that this runs on."""

COLLAPSE = 25
"""``MADV_COLLAPSE``, Linux 6.1."""


def collapse() -> int:
    """Put everything that has at least half of its pages in memory into large ones; how many it became.

    Takes up to a third of a second: for a process that goes on forking. An older kernel refuses, and
    one that has no large page left leaves the rest as it is.
    """
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    done = 0
    with open("/proc/self/pagemap", "rb", buffering=0) as map_:
        for first, last in tuple(writable()):
            for start in range(-(-first // SIZE) * SIZE, last - SIZE + 1, SIZE):
                map_.seek(start // mmap.PAGESIZE * ENTRY)
                entries = array("Q", map_.read(SIZE // mmap.PAGESIZE * ENTRY))
                if 2 * sum(bool(entry & PRESENT) for entry in entries) >= len(entries):
                    done += libc.madvise(start, SIZE, COLLAPSE) == 0
    return done
