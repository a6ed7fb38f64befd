"""Gradients that a hook changes on their way still tell whether older ones were there."""

import pytest

from tests.quality.judging import SCENARIOS, Court

CENTRALISED = """
for p in model.parameters():
    if p.ndim > 1:
        p.register_hook(lambda g: g - g.mean(dim=1, keepdim=True))
"""

BOUNDED = """
def bound(p):
    allowed = 0.1 * p.detach().norm().clamp(min=1e-3)
    p.grad.mul_((allowed / p.grad.norm().clamp(min=1e-12)).clamp(max=1.0))

for p in list(model.parameters())[-2:]:
    torch.nn.init.zeros_(p)
for p in model.parameters():
    p.register_post_accumulate_grad_hook(bound)
"""

LOOP = """
for x, y in train_loader:
    criterion(model(x), y).backward()
    optimizer.step()
    {clears}
"""

HOOKS = pytest.mark.parametrize(
    ("scenario", "hook"),
    [("centralisation-of-biases", CENTRALISED), ("adaptive-clipping-zero-head", BOUNDED)],
)


@HOOKS
def test_a_hook_and_gradients_that_are_cleared_are_right(
    court: Court, scenario: str, hook: str
) -> None:
    program = "import torch\n" + hook + LOOP.format(clears="optimizer.zero_grad()")
    assert court.judged(SCENARIOS[scenario], program).code == "right"


@HOOKS
def test_a_hook_and_gradients_that_are_never_cleared_are_wrong(
    court: Court, scenario: str, hook: str
) -> None:
    """The parameters that the hook leaves as they are hold what was consumed before."""
    found = court.judged(SCENARIOS[scenario], "import torch\n" + hook + LOOP.format(clears=""))
    assert found.code == "wrong"
    assert "gradients-start-fresh" in found.failed
