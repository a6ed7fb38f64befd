"""What a fork has to copy is little once memory lies in large pages."""

import ctypes
import platform

import pytest

from harness.sandbox.jail import calls

MANY = 16 << 20


def in_large_pages() -> int:
    """Bytes of this process."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        sizes = (line.split() for line in file)
        return next(int(size[1]) << 10 for size in sizes if size[0] == "AnonHugePages:")


def knows_collapse() -> bool:
    """Linux has it since 6.1."""
    major, minor = platform.release().split(".")[:2]
    return (int(major), int(minor)) >= (6, 1)


@pytest.mark.skipif(not knows_collapse(), reason="the kernel is older than 6.1")
def test_what_a_process_has_written_moves_into_large_pages():
    kept = bytearray(b"x") * MANY
    before = in_large_pages()

    moved = calls.take_large_pages()

    assert moved >= MANY // 2
    assert in_large_pages() > before
    assert kept.count(b"x") == MANY


def test_no_error_number_is_left_for_landlock_to_read():
    calls.take_large_pages()

    assert ctypes.get_errno() == 0
