"""What a fork has to copy is little once memory lies in large pages."""

import ctypes
from pathlib import Path

from harness.sandbox.jail import calls

MANY = 16 << 20


def in_large_pages() -> int:
    """Bytes of this process."""
    with Path("/proc/self/smaps_rollup").open(encoding="ascii") as file:
        sizes = (line.split() for line in file)
        return next(int(size[1]) << 10 for size in sizes if size[0] == "AnonHugePages:")


def test_what_a_process_has_written_moves_into_large_pages_and_stays_what_it_is():
    kept = bytearray(b"x") * MANY
    before = in_large_pages()

    moved = calls.take_large_pages()

    assert moved == 0 or in_large_pages() > before  # 0: an old kernel, or no large page is left
    assert kept.count(b"x") == MANY


def test_no_error_number_is_left_for_landlock_to_read():
    calls.take_large_pages()

    assert ctypes.get_errno() == 0
