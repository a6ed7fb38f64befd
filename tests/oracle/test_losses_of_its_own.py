"""Where a scenario leaves the loss to the program, learning is not measured by another loss than its own."""

import pytest

from tests.quality.judging import SCENARIOS, Court

LOOP = """
import torch
import torch.nn.functional as F

for step, batch in enumerate(train_loader):
    optimizer.zero_grad()
    output = model(batch)
    loss = {loss}
    if not torch.isfinite(loss):
        print(f"step {{step}}: the loss is {{loss.item()}}, finite inputs: {{torch.isfinite(batch).all()}}")
        continue
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    if not torch.isfinite(norm):
        print(f"step {{step}}: the gradient is not finite")
        continue
    optimizer.step()
"""

POSITIVE = {
    "softplus": "custom_loss(F.softplus(output) + 1e-6, target)",
    "an exponential": "custom_loss(torch.exp(output.clamp(max=10.0)), target)",
    "a clamp": "custom_loss(output.clamp(min=1e-3), target)",
    "a loss of its own": "(torch.log(F.softplus(output) + 1e-6) - target.clamp(min=1e-6).log()).pow(2).mean()",
}
FITTED_TO_NOTHING = {
    "only ever larger": "-4.0 * F.softplus(output).mean()",
    "larger, whatever the target": "(1.0 / (F.softplus(output) + target)).sum()",
    "no gradient": "custom_loss(F.softplus(output.detach()) + 0.0 * output, target)",
}


@pytest.mark.parametrize("loss", POSITIVE.values(), ids=POSITIVE)
def test_predictions_may_be_made_positive_in_any_way(court: Court, loss: str) -> None:
    """The raw outputs then are no predictions, and the workload's loss of them may grow."""
    found = court.judged(SCENARIOS["nan-after-clipping"], LOOP.format(loss=loss))

    assert found.code == "right", found.story()


@pytest.mark.parametrize("loss", FITTED_TO_NOTHING.values(), ids=FITTED_TO_NOTHING)
def test_a_loss_that_fits_outputs_to_nothing_is_wrong(court: Court, loss: str) -> None:
    assert court.judged(SCENARIOS["nan-after-clipping"], LOOP.format(loss=loss)).code == "wrong"
