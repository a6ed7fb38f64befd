"""Whether parameters follow from gradients, for what is no ordinary tensor or optimizer."""

from tests.quality.judging import SCENARIOS, Court

REZERO = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16)
        self.alpha = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return x + self.alpha * self.inner(x)


model = nn.Sequential(Block(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""

LABELLED = """
class Labelled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(Block(), nn.Linear(16, 3))

    def forward(self, x, y=None):
        out = self.inner(x)
        return out if y is None else nn.functional.mse_loss(out, y)

"""

SEARCHES = """
import torch
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=1)
for x, y in train_loader:
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss
    optimizer.step(closure)
"""


def test_a_model_with_parameters_of_no_dimension_is_measured(court: Court) -> None:
    """ReZero starts its branches at a scalar 0."""
    assert court.judged(SCENARIOS["clip-after-step"], REZERO).code == "right"


def test_an_optimizer_that_searches_with_its_closure_is_not_followed(court: Court) -> None:
    """LBFGS cannot step without one, not even where it called it once."""
    found = court.judged(SCENARIOS["clip-after-step"], SEARCHES)

    followed = {u.parameters_followed for p in found.trace.probes for u in p.updates}
    assert followed == {None}


def test_a_model_that_returns_its_own_loss_is_measured(court: Court) -> None:
    """As some libraries' models do when they are given the labels; its output has no rows."""
    own = REZERO.replace("nn.Sequential(Block(), nn.Linear(16, 3))", "Labelled()")
    own = own.replace("criterion(model(x), y)", "model(x, y)").replace(
        "\nmodel =", f"{LABELLED}\nmodel ="
    )

    found = court.judged(SCENARIOS["clip-after-step"], own)

    assert all(u.consumed_norm > 0 for p in found.trace.probes for u in p.updates)
    assert found.code != "wrong"


TEMPERATURE = """
import torch
from torch import nn
temperature = nn.Parameter(torch.zeros(1))
optimizer = torch.optim.AdamW([*model.parameters(), temperature], lr=0.01)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x) * temperature.exp(), y).backward()
    torch.nn.utils.clip_grad_norm_([*model.parameters(), temperature], max_norm=1.0)
    optimizer.step()
"""


def test_an_optimizer_that_took_one_step_unfollowed_is_not_followed_later(court: Court) -> None:
    """A tensor of no model is first seen at its first step; from then on the state is behind."""
    found = court.judged(SCENARIOS["clip-after-step"], TEMPERATURE)

    assert False not in {u.parameters_followed for p in found.trace.probes for u in p.updates}
    assert found.code == "right"
