"""A recurrent model of the program's own that is handed its state, through the jail to its grade."""

import pytest

from tests.quality.judging import SCENARIOS

PROGRAM = """
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)

class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(input_size=4, hidden_size=16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x, h{default}):
        states, h = self.rnn(x, h)
        return self.head({states}[:, -1]), h

net = Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for x, y in train_loader:
    h = None
    for chunk in x.view(len(x), 4, 4).split(2, dim=1):
        h = None if h is None else h.detach()
        opt.zero_grad()
        out, h = net(chunk, h)
        F.mse_loss(out, y).backward()
        torch.nn.utils.clip_grad_norm_({clipped}.parameters(), max_norm=5.0)
        opt.step()
"""
RIGHT = {"default": "=None", "states": "states", "clipped": "net"}
HALF = "(0.5 * states + 0.5 * states.detach())"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, "right"),
        ({"default": ""}, "right"),
        ({"clipped": "net.rnn"}, "wrong"),
        ({"states": HALF}, "inconclusive"),  # its gradients are not those of a loss
        ({"default": "", "states": HALF}, "inconclusive"),
    ],
)
def test_a_state_that_is_carried_from_stretch_to_stretch(court, change, code):
    program = PROGRAM.format(**RIGHT | change)

    assert court.judged(SCENARIOS["recurrent-half-clipped"], program).code == code
