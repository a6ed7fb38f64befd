"""Optimizers that undo what a program did to its gradients are told by how parameters moved."""

import pytest

SCRIPT = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(200, 4)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
rate, whole = 0.01, {}


class Own(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            held = self.state[p].setdefault("held", torch.zeros_like(p))
            held.mul_(HOLDS).add_(p.grad)
            p -= self.param_groups[0]["lr"] * (whole[p] if BY == "whole" else held)


HOLDS, BY = 0.0, "held"
optimizer = torch.optim.SGD(net.parameters(), lr=rate)
%s
for batch in x.split(8):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(batch), 20 * batch.sum(1, keepdim=True)).backward()
    whole.update((p, p.grad.clone()) for p in net.parameters())
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    %s
    optimizer.step()
    %s
"""
OWN = "optimizer = Own(net.parameters(), rate)"
UNDONE = {
    "momentum of 1": ("optimizer = torch.optim.SGD(net.parameters(), rate, momentum=1.0)", "", ""),
    "a sum that is never cleared": (f"HOLDS = 1.0; {OWN}", "", ""),
    "a gradient from before the clip": (f"BY = 'whole'; {OWN}", "", ""),
    "a rate that grows by what was clipped": (
        "", "optimizer.param_groups[0]['lr'] = rate * max(1.0, float(norm) / 0.5)", "",
    ),
}  # fmt: skip
LAWFUL = {
    "momentum": ("optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.99)", "", ""),
    "momentum of its own": (f"HOLDS = 0.9; {OWN}", "", ""),
    "a rate that grows": ("", "", "optimizer.param_groups[0]['lr'] *= 1.1"),
    "momentum under a rate that grows": (
        "optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.9)",
        "optimizer.param_groups[0]['lr'] *= 1.0 / 0.9", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDONE)
def test_an_update_that_undoes_what_was_done_to_the_gradient_is_told(see, case):
    assert "no effect" in (see(SCRIPT % UNDONE[case]).trace.contradiction or "")


@pytest.mark.parametrize("case", LAWFUL)
def test_momentum_and_rates_that_move_are_nothing_of_the_kind(see, case):
    assert see(SCRIPT % LAWFUL[case]).trace.contradiction is None
