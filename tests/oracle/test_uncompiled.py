"""Optimizers step in the oracle as they do elsewhere, but for torch's compiler, which stays away."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from harness.oracle import uncompiled
from harness.oracle.following import TORCHS_OWN

STEPS = """
import sys
from harness.oracle.worker import _warm
_warm()
import torch
from harness.oracle import uncompiled
from harness.oracle.following import TORCHS_OWN
for kind in TORCHS_OWN.values():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = kind([{"params": [weight]}], lr=0.1)
    weight.grad = torch.ones(3)
    uncompiled.step(optimizer)
print("torch._dynamo" in sys.modules)
"""


class CountingSteps(torch.optim.SGD):
    """An optimizer of a bank."""

    count = 0

    def step(self, closure=None):
        """Count it, and step."""
        self.count += 1
        return super().step(closure)


def weights_after(kind, step, steps: int = 4) -> torch.Tensor:
    weight = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
    optimizer = kind([{"params": [weight]}], lr=0.1)
    for number in range(steps):
        weight.grad = torch.tensor([0.5, 1.0, -4.0]) * (number + 1)
        step(optimizer)
    return weight.detach()


@pytest.mark.parametrize("kind", TORCHS_OWN.values(), ids=lambda kind: kind.__name__)
def test_steps_without_the_compiler_are_bit_for_bit_torchs_own(kind):
    """Whatever state it keeps between them."""
    ours = weights_after(kind, uncompiled.step)

    assert torch.equal(ours, weights_after(kind, lambda optimizer: optimizer.step()))


def test_an_optimizer_that_is_not_torchs_own_steps_by_itself():
    """Its own method is called."""
    optimizers = []

    def step(optimizer):
        optimizers.append(optimizer)
        uncompiled.step(optimizer)

    weights_after(CountingSteps, step)
    assert optimizers[0].count == 4


def test_a_process_that_measures_imports_no_compiler():
    """Neither when optimizers are made nor when they step: half of its start."""
    said = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True)

    assert said.stdout == "False\n"
