"""Large pages change nothing but the number of entries that a fork copies."""

import mmap
from pathlib import Path

import pytest

from harness.sandbox import large_pages
from harness.sandbox.pool import Job, Sandbox
from harness.sandbox.zygote import MANY
from tests.fakes.runs import facts, in_a_fork

HELD = 4 * large_pages.SIZE
ROLLUP = Path("/proc/self/smaps_rollup")
WHO = "import os\nreport(pid=os.getpid())"


def huge_kilobytes() -> int:
    """Memory of this process that is in large pages."""
    (line,) = [row for row in ROLLUP.read_text().splitlines() if row.startswith("AnonHugePages:")]
    return int(line.split()[1])


def test_what_is_in_memory_is_in_large_pages_and_still_the_same():
    text = bytes(range(256)) * (HELD // 256)
    memory = mmap.mmap(-1, HELD, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = text

    def collapsed() -> str:
        before = huge_kilobytes()
        large_pages.collapse()
        return f"{huge_kilobytes() - before} {memory[:] == text}"

    more, same = in_a_fork(collapsed).split()
    if more == "0":
        pytest.skip("this kernel makes no large pages when asked to")

    assert same == "True"
    assert int(more) >= HELD // 2 // 1024


def test_jobs_after_the_many_are_like_those_before():
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as own:
        pids = [facts(own.execute(Job(program=WHO)))["pid"] for _ in range(MANY + 2)]
        ranks = own.execute(Job(program=WHO, world_size=2))

    assert len({*pids, *(facts(ranks, rank)["pid"] for rank in range(2))}) == MANY + 4
