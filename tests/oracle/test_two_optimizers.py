"""Two optimizers over one model: what is forgotten for one of them is told."""

import pytest

from tests.quality.judging import SCENARIOS, Court

MADE = """
layers = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
opt_a = torch.optim.SGD([p for m in layers[:-1] for p in m.parameters()], lr=0.1)
opt_b = torch.optim.SGD(layers[-1].parameters(), lr=0.1)
"""

LOOP = """
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / 4).backward()
    if (i + 1) % 4 == 0:
        for optimizer in (opt_a, opt_b):
            optimizer.step()
        {clears}
"""


def judged(court: Court, made: str, clears: str) -> tuple[str, set[str]]:
    found = court.judged(
        SCENARIOS["zero-grad-missing"], "import torch\n" + made + LOOP.format(clears=clears)
    )
    return found.code, {verdict.property for verdict in found.verdicts if verdict.outcome == "fail"}


def test_a_loop_that_clears_both_optimizers_is_right(court: Court) -> None:
    assert judged(court, MADE, "opt_a.zero_grad(), opt_b.zero_grad()")[0] == "right"


@pytest.mark.parametrize("one", ["opt_a", "opt_b"])
def test_one_that_is_never_cleared_is_wrong(court: Court, one: str) -> None:
    """Only its own parameters hold what was consumed before; no combination explains the whole."""
    code, failed = judged(court, MADE, f"{one}.zero_grad()")

    assert code == "wrong"
    assert "gradients-start-fresh" in failed
