"""What a loss is given where it takes logits or logarithms, in the real jail."""

import pytest

PROGRAM = """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    hot = F.one_hot(y, 3).float()
    optimizer.zero_grad()
    {loss}.backward()
    optimizer.step()
"""
GIVEN = {
    "F.cross_entropy(torch.softmax(net(x), 1), y)": "cross_entropy of what softmax returned",
    "nn.CrossEntropyLoss()(nn.Softmax(dim=1)(net(x)).view(8, 3), y)": "cross_entropy of what softmax returned",
    "F.kl_div(F.softmax(net(x), 1), hot)": "kl_div of what softmax returned",
    "F.nll_loss(net(x).softmax(1), y)": "nll_loss of what softmax returned",
    "nn.BCEWithLogitsLoss()(torch.sigmoid(net(x)), hot)": (
        "binary_cross_entropy_with_logits of what sigmoid returned"
    ),
}
GIVEN |= {
    "F.mse_loss(net(x)[:, :1], hot[:, 0])": "mse_loss of (8, 1) beside (8,)",
    "nn.L1Loss(reduction='sum')(net(x)[:, 0], hot[:, :1])": "l1_loss of (8,) beside (8, 1)",
}
LAWFUL = [
    "F.mse_loss(net(x), hot[0])",
    "F.mse_loss(net(x)[:1, :1], hot[:1, 0])",
    "F.mse_loss(net(x)[:, None], hot[None])",
    "F.smooth_l1_loss(net(x)[:, :1], hot[:, 0], reduction='none').mean()",
    "F.cross_entropy(net(x), y)",
    "F.cross_entropy(F.log_softmax(net(x), 1), y)",
    "F.kl_div(F.log_softmax(net(x), 1), F.softmax(net(x).detach(), 1))",
    "F.nll_loss(net(x).log_softmax(1), y)",
    "F.nll_loss(net(x).softmax(1).log(), y)",
    "F.binary_cross_entropy(torch.sigmoid(net(x)), hot)",
    "F.cross_entropy(net(x) * net(x).softmax(1), y)",
    "F.cross_entropy(net(x), net(x).softmax(1))",
]


@pytest.mark.parametrize("loss", GIVEN)
def test_a_loss_that_is_given_probabilities_in_place_of_logits_is_told(see, loss):
    assert see(PROGRAM.format(loss=loss)).trace.program.misfed == (GIVEN[loss],)


@pytest.mark.parametrize("loss", LAWFUL)
def test_a_loss_that_is_given_what_it_takes_is_not_told(see, loss):
    assert see(PROGRAM.format(loss=loss)).trace.program.misfed == ()
