"""An optimizer of the program's own whose ``step`` puts the update off until the window is full."""

import pytest

from tests.quality.judging import SCENARIOS, Court

INHERITED = """
import torch

class Accumulating(torch.optim.SGD):
    seen = 0

    def step(self, closure=None):
        self.seen += 1
        if self.seen % 4 == 0:
            super().step(closure)
            {clears}

    def zero_grad(self, set_to_none=True):
        pass

    def clear(self):
        super().zero_grad()

optimizer = Accumulating(model.parameters(), lr=0.1)
"""

WRITTEN = """
import torch

class Accumulating(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, dict(lr=0.1))
        self.seen = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.seen += 1
        if self.seen % 4:
            return
        for p in self.param_groups[0]["params"]:
            p.sub_(p.grad, alpha=0.1)
        {clears}

    def clear(self):
        self.zero_grad()

optimizer = Accumulating(model.parameters())
"""

LOOP = """
for x, y in train_loader:
    (criterion(model(x), y) / 4).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("made", [INHERITED, WRITTEN], ids=["inherited", "written"])
def test_a_step_that_moves_nothing_is_no_update(court: Court, made: str) -> None:
    program = made.format(clears="self.clear()") + LOOP

    assert court.judged(SCENARIOS["zero-grad-missing"], program).code == "right"


@pytest.mark.parametrize("made", [INHERITED, WRITTEN], ids=["inherited", "written"])
def test_gradients_that_are_never_cleared_are_told_all_the_same(court: Court, made: str) -> None:
    program = made.format(clears="pass") + LOOP

    assert court.judged(SCENARIOS["zero-grad-missing"], program).code == "wrong"
