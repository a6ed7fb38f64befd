"""A program that trains one copy of the model after another is recorded copy by copy."""

import copy

import pytest
import torch
from torch import nn

from harness.domain.candidate import Candidate
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from harness.sandbox.executor import JailedExecutor
from harness.sandbox.recorder.tape import Tape

PROGRAM = """
import copy

def once(x, y):
    net, opt = copy.deepcopy((model, optimizer))
    criterion(net(x), y).backward()
    opt.step()

x, y = next(iter(train_loader))
for _ in range({times}):
    once(x, y)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""


class Nowhere:
    def send(self, *_: object) -> None: ...


def recorded(executor: JailedExecutor, times: int) -> int:
    """Bytes of all tensors on record."""
    candidate = Candidate(program=PROGRAM.format(times=times), origin="test")
    workload = WorkloadSpec(name="mlp", parameters={})
    found = executor.execute(candidate, workload, Probe(name="quiet", lifts="x"))
    assert found.problem is None
    return sum(len(t.data) for rank in found.ranks for e in rank.events for t in e.tensors)


@pytest.mark.full
def test_what_is_recorded_grows_with_the_copies_and_not_with_their_square(executor):
    """Fifty copies in a measurement took ten times what they take, and were stopped."""
    none, some, many = (recorded(executor, times) for times in (0, 10, 40))

    assert many - none < 5 * (some - none)


def test_a_parameter_that_is_gone_is_in_no_event_and_its_place_is_another_ones():
    tape, model = Tape(Nowhere()), nn.Linear(2, 1)
    tape.register("", model.named_parameters())
    for number in range(5):
        other = copy.deepcopy(model)
        tape.register(f"own{number}.", other.named_parameters())
        other.weight.grad = torch.ones_like(other.weight)

    assert [name for name, *_ in tape.values()] == [
        "param:weight", "param:bias", "param:own4.weight", "param:own4.bias",
    ]  # fmt: skip
    assert [name for name, *_ in tape.gradients()] == ["grad:own4.weight"]
    assert tape.name(other.bias) == "own4.bias"
