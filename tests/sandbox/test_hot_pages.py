"""Pages copied before a job is there: the same verdicts, fewer faults, and nothing where it cannot be."""

import ctypes
import gc
import mmap
import os
import resource
from array import array
from collections.abc import Iterator

import pytest

from harness.domain.candidate import Candidate
from harness.domain.event import Printed
from harness.domain.scenario import Probe
from harness.domain.verdict import Verdict
from harness.sandbox import hot_pages
from harness.sandbox.executor import JailedExecutor
from harness.sandbox.pool import Sandbox
from tests.fakes.runs import in_a_fork
from tests.quality.judging import SCENARIOS, open_court

PAGE = mmap.PAGESIZE
PAGES = 1024  # the interpreter's own faults, about ten, must not count
WRITTEN, ELSEWHERE = range(64, 320), range(512, 528)

COUNTING = """\
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


class Memory:
    """Some pages that a fork shares with this process."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, PAGES * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.write(range(PAGES), b"old")

    def write(self, pages: range, text: bytes) -> None:
        """The same text at the beginning of each page."""
        for page in pages:
            self._map[page * PAGE : page * PAGE + len(text)] = text

    def read(self, page: int) -> bytes:
        """The beginning of a page."""
        return self._map[page * PAGE : page * PAGE + 3]

    def of(self, found: hot_pages.Pages) -> set[int]:
        """Those of its pages that are among the ones found."""
        return {
            page
            for page in range(PAGES)
            for start, size in zip(found[::2], found[1::2], strict=True)
            if start <= self.start + page * PAGE < start + size
        }


@pytest.fixture
def memory() -> Iterator[Memory]:
    yield Memory()
    gc.unfreeze()


@pytest.fixture
def learned(memory: Memory) -> hot_pages.Pages:
    found = hot_pages.learn(lambda: memory.write(WRITTEN, b"new"))
    if not found:
        pytest.skip("this kernel does not say which pages a process has to itself")
    return found


def faults_of_writing(memory: Memory) -> int:
    """Of writing to the pages that were learned; a few more are the interpreter's own."""
    memory.write(ELSEWHERE, b"new")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    memory.write(WRITTEN, b"new")
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def seen_by(worker: str) -> tuple[list[tuple[Verdict, ...]], int]:
    """Verdicts on a posted loop and its fix, and the faults of a loop that counts them."""
    scenario = SCENARIOS["clip-after-step"]
    with JailedExecutor() as executor:
        executor._sandbox = Sandbox(worker=worker, parallel=1)  # noqa: SLF001 - no other way in
        court = open_court(executor)
        programs = scenario.buggy, scenario.reference
        verdicts = [court.judged(scenario, program).verdicts for program in programs]
        counting = Candidate(program=COUNTING, origin="test")
        probe = Probe(name="counting", lifts="")
        (rank,) = executor.execute(counting, scenario.workload_of(probe), probe).ranks
    (printed,) = [r.event.text for r in rank.events if isinstance(r.event, Printed)]
    return verdicts, int(printed)


def test_what_a_fork_writes_to_is_learned_and_nothing_beside_it(memory, learned):
    assert memory.of(learned) == set(WRITTEN)


def test_what_was_learned_in_a_fork_has_not_happened_here(memory, learned):
    assert memory.read(WRITTEN[0]) == b"old"


@pytest.mark.parametrize("own", [hot_pages.own, hot_pages.own_each])
def test_pages_that_are_owned_cost_no_fault_later(memory, learned, own):
    def owned() -> int:
        own(learned)
        return faults_of_writing(memory)

    assert int(in_a_fork(lambda: faults_of_writing(memory))) >= len(WRITTEN)
    assert int(in_a_fork(owned)) < len(WRITTEN) // 2


def test_a_page_that_is_owned_keeps_what_stood_in_it(memory, learned):
    def kept() -> set[bytes]:
        hot_pages.own(learned)
        return {memory.read(page) for page in range(PAGES)}

    assert in_a_fork(kept) == str({b"old"})


def test_where_no_page_map_can_be_opened_nothing_is_learned(memory):
    """As on a kernel without one: here the rehearsal gives up its right to open files."""

    def rehearse() -> None:
        memory.write(WRITTEN, b"new")
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))

    assert not hot_pages.learn(rehearse)


def test_a_rehearsal_that_fails_teaches_nothing_and_stays_in_its_fork(memory):
    here = os.getpid()

    def rehearse() -> None:
        raise RuntimeError("no rehearsal")

    assert not hot_pages.learn(rehearse)
    assert os.getpid() == here


def test_pages_that_are_gone_are_passed_over(memory, learned):
    """What a rehearsal had allocated for itself is not there in the next fork."""
    nowhere = [1 << 40, PAGE]

    def owned() -> int:
        hot_pages.own(array("Q", [*nowhere, *learned, *nowhere]))
        return faults_of_writing(memory)

    assert int(in_a_fork(owned)) < len(WRITTEN) // 2


@pytest.mark.full
def test_verdicts_are_the_same_with_and_without_and_faults_are_fewer():
    verdicts, faults = seen_by("harness.sandbox.worker")
    others, more = seen_by("tests.fakes.cold_worker")

    assert verdicts == others
    assert faults <= more
