"""Parameters that are changed without an optimizer, in the real jail."""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.event import ByHand, OptimizerStep
from harness.domain.scenario import Expectations, Probe
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from harness.sandbox.executor import JailedExecutor

WORKLOAD = WorkloadSpec(name="mlp", parameters={"target_scale": 0.2, "batches": 4}, seed=3)
PROBE = Probe(name="probe", lifts="")

LOOP = """
import torch
lr = 0.05
params = list(model.parameters())
for x, y in train_loader:
    criterion(model(x), y).backward()
    with torch.no_grad():
        {update}
    model.zero_grad()
"""

EACH = "for p in params:\n            {}"
SPELLINGS = {
    "minus": EACH.format("p -= lr * p.grad"),
    "add": EACH.format("p.add_(p.grad, alpha=-lr)"),
    "data": EACH.format("p.data.add_(p.grad.data, alpha=-lr)"),
    "new-data": EACH.format("p.data = p.data - lr * p.grad"),
    "copy": EACH.format("p.copy_(p - lr * p.grad)"),
    "in-place": EACH.format("p[...] = p - lr * p.grad"),
    "divided-in-turn": EACH.format("p.grad /= 1; p.sub_(lr * p.grad); p.grad = None"),
    "vector": "flat = torch.nn.utils.parameters_to_vector\n"
    "        torch.nn.utils.vector_to_parameters("
    "flat(params) - lr * flat([p.grad for p in params]), params)",
    "joined": "torch._foreach_add_(params, [p.grad for p in params], alpha=-lr)",
}


def measured(executor: JailedExecutor, program: str):
    recording = executor.execute(Candidate(program=program, origin="test"), WORKLOAD, PROBE)
    assert recording.problem is None
    (rank,) = measure(recording, WORKLOAD, PROBE, Expectations()).ranks
    return [item.event for item in recording.ranks[0].events], rank


@pytest.mark.parametrize("update", SPELLINGS.values(), ids=SPELLINGS)
def test_an_update_by_hand_consumes_the_gradient_of_its_batch(
    executor: JailedExecutor, update: str
) -> None:
    _, rank = measured(executor, LOOP.format(update=update))
    assert [u.learning_rates for u in rank.updates] == [(0.05,)] * 4
    for found in rank.updates:
        match = found.match("sample-mean")
        assert match is not None
        assert match.relative_error < 1e-3


BESIDE = """
import copy, torch
average = copy.deepcopy(model)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    {early}
    optimizer.step()
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.mul_(0.9).add_(p, alpha=0.1)
            p.clamp_(-5.0, 5.0)
"""


def test_beside_an_optimizer_only_its_steps_are_updates(executor: JailedExecutor) -> None:
    events, rank = measured(executor, BESIDE.format(early="pass"))
    assert len(rank.updates) == sum(isinstance(e, OptimizerStep) for e in events) == 4
    assert not any(isinstance(e, ByHand) for e in events)


def test_a_change_before_a_parameters_first_step_is_no_update(
    executor: JailedExecutor,
) -> None:
    early = "[p.data.mul_(0.99) for p in model.parameters()]"
    _, rank = measured(executor, BESIDE.format(early=early))
    assert len(rank.updates) == 4
    assert {u.optimizer for u in rank.updates} == {"SGD"}
