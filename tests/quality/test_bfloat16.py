"""Models that are cast to bfloat16 as a whole, through the jail to their grade."""

import pytest

from tests.quality.judging import SCENARIOS

CLIPPED = """
import torch

model = model.to(torch.bfloat16)
{optimizer}
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x.to(torch.bfloat16)).float(), y)
    loss.backward()
    {before}
    optimizer.step()
    {after}
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
RIGHT = {"optimizer": "", "before": CLIP, "after": ""}
ADAM = {"optimizer": "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)"}

ACCUMULATING = """
import torch

model.bfloat16()
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x.bfloat16()), y.bfloat16()) / {steps}
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        {cleared}
"""


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, "right"),
        (ADAM, "right"),
        ({"before": "", "after": CLIP}, "wrong"),
        (ADAM | {"before": ""}, "wrong"),
        ({"before": CLIP.replace("norm_(", "value_(")}, "wrong"),
    ],
)
def test_a_clip_in_bfloat16_is_judged_like_one_in_single_precision(court, change, code):
    """Its gradients are as true as that type allows, and its parameters follow from them in that type."""
    found = court.judged(SCENARIOS["clip-after-step"], CLIPPED.format(**RIGHT | change))

    assert found.code == code, found.story()


@pytest.mark.parametrize(
    ("change", "code"),
    [({}, "right"), ({"cleared": "pass"}, "wrong"), ({"steps": "3"}, "wrong")],
)
def test_windows_in_bfloat16_are_told_from_wrong_ones(court, change, code):
    program = ACCUMULATING.format(**{"steps": "4", "cleared": "optimizer.zero_grad()"} | change)

    found = court.judged(SCENARIOS["zero-grad-missing"], program)

    assert found.code == code, found.story()
