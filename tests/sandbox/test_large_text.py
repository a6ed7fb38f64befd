"""Machine code in large pages: the same results, fewer faults in forks, and nothing where it cannot be."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from harness.sandbox import large_text
from harness.sandbox.large_pages import SIZE
from tests.fakes.runs import in_a_fork


def train() -> float:
    """Runs through a part of torch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def rehearse() -> None:
    train()


def code_of_files() -> int:
    """Bytes of files that can be executed."""
    rows = [row.split() for row in Path("/proc/self/maps").read_text().splitlines()]
    spans = [row[0].split("-") for row in rows if row[1] == "r-xp" and row[4] != "0"]
    return sum(int(last, 16) - int(first, 16) for first, last in spans)


def faults() -> int:
    """Of one training step in a fork."""

    def counted() -> str:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        train()
        return str(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

    return int(in_a_fork(counted))


def before_and_after(tell: Callable[[], object]) -> tuple[int, str, str]:
    """How many large pages it became in a fork, and what there was to tell there before and after it.

    Skips where nothing can be moved.
    """
    found = in_a_fork(lambda: f"{tell()} {large_text.move(rehearse)} {tell()}")
    before, number, after = found.split()
    if number == "0":
        pytest.skip("this kernel makes no large pages when asked to")
    return int(number), before, after


def test_what_was_moved_computes_the_same():
    _, before, after = before_and_after(train)

    assert before == after == str(train())


def test_what_was_moved_belongs_to_no_file_any_more():
    number, before, after = before_and_after(code_of_files)

    assert int(before) - int(after) == number * SIZE


def test_a_fork_finds_its_way_with_fewer_faults():
    number, before, after = before_and_after(faults)

    assert int(after) <= int(before) - number


def test_without_room_the_libraries_stay_as_they_are():
    def cramped() -> str:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        least = pages * os.sysconf("SC_PAGESIZE")
        resource.setrlimit(resource.RLIMIT_AS, (least, least))
        return f"{large_text.move(rehearse)} {train()}"

    assert in_a_fork(cramped) == f"0 {train()}"
