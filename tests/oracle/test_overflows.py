"""Programs that treat an overflow themselves, beside one with NaN and one with infinities alone."""

import pytest

from tests.quality.judging import SCENARIOS, Court

STEP = SCENARIOS["amp-optimizer-step"]
GUARDED = """
import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")
for x, y in train_loader:
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    {before}
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    {step}
    scaler.update()
"""


@pytest.mark.parametrize(
    ("asks", "code"),
    [
        ("torch.isfinite(norm)", "right"),
        ("not torch.isnan(norm)", "wrong"),
        ("norm == norm", "wrong"),
        ("not torch.isinf(norm)", "wrong"),
    ],
)
def test_a_guard_has_to_know_nan_and_infinities(court: Court, asks: str, code: str) -> None:
    guarded = GUARDED.format(before="", step=f"if {asks}: optimizer.step()")

    found = court.judged(STEP, guarded)

    assert found.code == code, found.story()


def test_overflows_that_are_covered_up_can_be_measured(court: Court) -> None:
    """What was consumed is finite, and what was computed is not."""
    covered = "for p in model.parameters(): torch.nan_to_num_(p.grad, 0.0, 65504.0, -65504.0)"

    found = court.judged(STEP, GUARDED.format(before=covered, step="scaler.step(optimizer)"))

    assert found.code == "wrong", found.story()
