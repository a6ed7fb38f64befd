"""Models that no module holds, put together in the loop, through the jail to their grade."""

import pytest

from tests.quality.judging import SCENARIOS

LOOP = """
import itertools
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
{parts}
opt = torch.optim.SGD({everything}, lr=0.01)
for x, y in train_loader:
    opt.zero_grad()
    {outputs}
    F.mse_loss(out, y).backward()
    torch.nn.utils.clip_grad_norm_({clipped}, max_norm=2.0)
    opt.step()
"""

VARIABLES = {
    "parts": "rnn, head = nn.GRU(4, 16, batch_first=True), nn.Linear(16, 1)",
    "everything": "itertools.chain(rnn.parameters(), head.parameters())",
    "outputs": "out = head(rnn(x.view(len(x), 4, 4))[0][:, -1])",
    "clipped": "[*rnn.parameters(), *head.parameters()]",
}
BY_KEY = {
    "parts": 'net = nn.ModuleDict({"rnn": nn.GRU(4, 16, batch_first=True), "head": nn.Linear(16, 1)})',
    "everything": "net.parameters()",
    "outputs": 'out = net["head"](net["rnn"](x.view(len(x), 4, 4))[0][:, -1])',
    "clipped": "net.parameters()",
}
CELL = VARIABLES | {
    "parts": "rnn, head = nn.GRUCell(4, 16), nn.Linear(16, 1)",
    "outputs": """h = torch.zeros(len(x), 16)
    for part in x.chunk(4, dim=1):
        h = rnn(part, h)
    out = head(h)""",
}
DROPS = VARIABLES | {"outputs": "out = head(F.dropout(rnn(x.view(len(x), 4, 4))[0][:, -1], 0.2))"}
METHODS = {
    "parts": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(4, 16, batch_first=True), nn.Linear(16, 1)

    def encode(self, x):
        return self.rnn(x)[1][-1]

    def decode(self, z):
        return self.head(z)

net = Net()
""",
    "everything": "net.parameters()",
    "outputs": "out = net.decode(net.encode(x.view(-1, 4, 4)))",
    "clipped": "net.parameters()",
}
RESHAPED = METHODS | {
    "parts": METHODS["parts"].replace("def encode(self, x)", "def forward(self, x)").replace(
        "return self.rnn(x)[1][-1]", "return self.decode(self.rnn(x)[1][-1])"
    ),
    "outputs": "out = net(x.view(-1, 4, 4))",
}  # fmt: skip


@pytest.mark.parametrize("form", [VARIABLES, BY_KEY, CELL, DROPS, METHODS, RESHAPED])
def test_a_model_that_is_put_together_in_the_loop_is_judged_like_one_that_is_not(court, form):
    """Clipped as a whole it is right; where the clip reaches one of its parts only, it is wrong."""
    scenario = SCENARIOS["recurrent-half-clipped"]
    parts = form["clipped"].replace("*head.parameters()", "").replace("net.p", "net.rnn.p")
    half = 'net["rnn"].parameters()' if form is BY_KEY else parts

    right = court.judged(scenario, LOOP.format(**form))
    assert right.code == "right", right.story()
    assert court.judged(scenario, LOOP.format(**form | {"clipped": half})).code == "wrong"


ACCUMULATING = """
import torch
import torch.nn as nn

encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
head = nn.Linear(32, 3)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(head(encoder(x)), y) / {steps}
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        {cleared}
"""


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, "inconclusive"),
        ({"cleared": "pass"}, "wrong"),
        ({"cleared": "encoder.zero_grad()"}, "wrong"),
    ],
)
def test_windows_of_a_model_that_is_put_together_are_followed(court, change, code):
    """Stale gradients show in what the optimizer consumes; which samples entered shows nowhere."""
    program = ACCUMULATING.format(**{"steps": "4", "cleared": "optimizer.zero_grad()"} | change)

    found = court.judged(SCENARIOS["zero-grad-missing"], program)

    assert found.code == code, found.story()
