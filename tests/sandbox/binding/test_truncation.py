"""A recurrent state that is detached in forward is truncation; anything else that is detached is lost."""

import pytest

LOOP = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}
        self.head = nn.Linear(7, 3)
        {more}

    def forward(self, x):
        h = c = None
        parts = x.view(len(x), 4, 4)
        {body}
        return {given}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion_of_mine = nn.MSELoss()
for x, y in train_loader:
    optimizer.zero_grad()
    criterion_of_mine(model(x), y).backward()
    optimizer.step()
"""
GRU = "self.rnn = nn.GRU(4, 7, batch_first=True)"
CELL = "self.cell = nn.GRUCell(4, 7)"
OVER_CELLS = "h = x.new_zeros(len(x), 7)\n        for t in range(4):\n            h = self.cell(parts[:, t], {cut})"
HALVES = "_, h = self.rnn(parts[:, :2])\n        s, h = self.rnn(parts[:, 2:], {cut})"
CUT = {
    "a GRU in two halves": (GRU, HALVES.format(cut="h.detach()"), "self.head(s[:, -1])"),
    "torch.detach": (GRU, HALVES.format(cut="torch.detach(h)"), "self.head(s[:, -1])"),
    "data": (GRU, HALVES.format(cut="h.data"), "self.head(s[:, -1])"),
    "in place": (GRU, HALVES.format(cut="h.detach_()"), "self.head(s[:, -1])"),
    "a cell, at the last step alone": (CELL, OVER_CELLS.format(cut="h.detach() if t == 3 else h"), "self.head(h)"),
    "a GRU in four calls": (
        GRU,
        ("s = []\n        for t in range(0, 4):\n            o, h = self.rnn(parts[:, t : t + 1], None if h is None else h.detach())\n"
        "            s.append(o)"),
        "self.head(s[-1][:, -1])",
    ),
    "a cell, every other step": (CELL, OVER_CELLS.format(cut="h.detach() if t % 2 else h"), "self.head(h)"),
    "weights of its own": (
        "self.inner, self.enters = nn.Linear(7, 7, bias=False), nn.Linear(4, 7)",
        ("h = x.new_zeros(len(x), 7)\n        for t in range(4):\n"
        "            before = h.detach() if t == 2 else h\n"
        "            h = torch.tanh(self.enters(parts[:, t]) + self.inner(before))"),
        "self.head(h)",
    ),
    "states that are outputs as well": (
        f"{CELL}; self.made = []",
        OVER_CELLS.format(cut="h.detach() if t == 2 else h") + "; self.made.append(h)",
        "self.head(sum(self.made[-4:]))",
    ),
    "both states of an LSTM": (
        "self.rnn = nn.LSTM(4, 7, batch_first=True)",
        ("_, hc = self.rnn(parts[:, :2])\n"
        "        s, hc = self.rnn(parts[:, 2:], tuple(v.detach() for v in hc))"),
        "self.head(s[:, -1])",
    ),
}  # fmt: skip
LOST = {
    "every step": (CELL, OVER_CELLS.format(cut="h.detach()"), "self.head(h)"),
    "every step, of states that are outputs as well": (
        f"{CELL}; self.made = []",
        OVER_CELLS.format(cut="h.detach()") + "; self.made.append(h)",
        "self.head(sum(self.made[-4:]))",
    ),
    "every step, of weights of its own": (
        "self.inner, self.enters = nn.Linear(7, 7, bias=False), nn.Linear(4, 7)",
        ("h = x.new_zeros(len(x), 7)\n        for t in range(4):\n"
        "            h = torch.tanh(self.enters(parts[:, t]) + self.inner(h.detach()))"),
        "self.head(h)",
    ),
    "what a state adds to the output": (CELL, OVER_CELLS.format(cut="h"), "self.head(h) + self.head(h * 2).detach()"),
    "a weight beside truncation": (
        CELL,
        OVER_CELLS.format(cut="h.detach() if t == 2 else h"),
        "self.head(h) + self.head(h @ self.head.weight.detach().t() @ self.head.weight)",
    ),
    "a branch beside truncation": (
        f"{CELL}; self.side = nn.Linear(7, 7)",
        OVER_CELLS.format(cut="h.detach() if t == 2 else h"),
        "self.head(h) + self.head(self.side(h)) + self.head(self.side(h.detach()))",
    ),
}  # fmt: skip
UNTRUE = "`Net` gives gradients that are not the derivatives of its outputs"


def program(layers: str, body: str, given: str, more: str = "pass") -> str:
    return LOOP.format(layers=layers, body=body, given=given, more=more)


@pytest.mark.parametrize("parts", CUT.values(), ids=CUT)
def test_a_truncated_recurrence_has_true_gradients(run, parts):
    ran = run(program(*parts), parameters={"features": 16})

    assert (ran.outcome, ran.steps, ran.untrue) == ("ran", 14, None)


@pytest.mark.parametrize("parts", LOST.values(), ids=LOST)
def test_what_is_detached_and_is_no_state_is_lost(run, parts):
    ran = run(program(*parts), parameters={"features": 16})

    assert ran.untrue == UNTRUE


def test_a_hook_that_clamps_is_not_hidden_by_truncation(run):
    clamps = "[p.register_hook(lambda g: g.clamp(-0.01, 0.01)) for p in self.parameters()]"

    ran = run(program(*CUT["a GRU in two halves"], clamps), parameters={"features": 16})

    assert ran.untrue == UNTRUE
