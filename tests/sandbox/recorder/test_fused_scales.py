"""Gradients that a kernel divides itself, in the real jail: whose word counts."""

import pytest

from harness.domain.event import OptimizerStep
from tests.sandbox.recorder.test_schedules_and_losses import run

PROGRAM = """
import torch
optimizer = torch.optim.{optimizer}
for x, y in train_loader:
    optimizer.zero_grad()
    (criterion(model(x), y) * 4).backward()
    optimizer.grad_scale = torch.tensor(4.0)
    optimizer.found_inf = torch.tensor(0.0)
    optimizer.step()
"""


def scales(executor, optimizer):
    recording = run(executor, PROGRAM.format(optimizer=optimizer))
    events = [e.event for e in recording.ranks[0].events]
    return {e.fused_scale for e in events if isinstance(e, OptimizerStep)}


def test_a_fused_kernel_divides_by_the_scale(executor):
    assert scales(executor, "Adam(model.parameters(), fused=True)") == {4.0}


@pytest.mark.parametrize(
    "optimizer",
    [
        "RMSprop(model.parameters(), lr=0.01)",
        'RMSprop([{"params": model.parameters(), "fused": True}], lr=0.01)',
    ],
)
def test_an_optimizer_without_a_fused_kernel_ignores_the_attribute(executor, optimizer):
    assert scales(executor, optimizer) == {None}
