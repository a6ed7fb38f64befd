"""Where one program is run by its own settings, as far as that needs no run."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.domain.candidate import Candidate
from harness.domain.instruments import Instruments
from harness.domain.own import OWN_SCENARIO, SHAPES
from harness.trial import Probing, Trial
from tests.fakes.executor import FakeExecutor, LateExecutor
from tests.fakes.oracle import FakeMeter

OF_ITS_OWN = """
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()  # our fault
"""
OF_A_READER = (
    "for x, y in loader:\n    criterion(model(x), y).backward()\n    optimizer.step()  # our fault"
)


def data_tried_with(program: str) -> list[str]:
    """The data that a program was run with which never makes a step."""
    tried: list[str] = []
    graded(program, FakeExecutor(lambda _, workload, __: tried.append(workload.name)))
    return tried


def graded(program: str, executor: FakeExecutor) -> None:
    """Grade a program by its own settings."""
    with ThreadPoolExecutor(1) as threads:
        probing = Probing(Instruments(executor, FakeMeter()), threads, seed=0)
        Trial(Candidate(program=program, origin="a test"), OWN_SCENARIO, "a test", probing).alone()


@pytest.mark.parametrize(("program", "tries"), [(OF_ITS_OWN, 1), (OF_A_READER, len(SHAPES))])
def test_data_of_other_shapes_are_tried_only_with_programs_that_are_lent_data(program, tries):
    assert len({*data_tried_with(program)}) == tries


@pytest.mark.parametrize(("program", "times"), [(OF_ITS_OWN, 1), (OF_A_READER, 2)])
def test_a_program_that_never_comes_to_an_update_has_the_time_of_two_runs(program, times):
    """In a world of its own one execution runs it in both sizes."""
    executor = LateExecutor()

    graded(program, executor)

    assert executor.programs == [program] * times
