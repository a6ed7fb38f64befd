"""What a loop does with a batch that is not finite, where it asks, through the jail to its grade."""

import pytest

from tests.quality.judging import SCENARIOS

WINDOWS = """import torch
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / 4
    {before}
    loss.backward()
    if (i + 1) % 4 == 0:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        {after}
        optimizer.zero_grad()
"""

RANKS = """import torch
import torch.distributed as dist
from contextlib import nullcontext
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % 4 == 0 or i + 1 == len(train_loader)
    with nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / min(4, len(train_loader) - i + i % 4)
        bad = (~torch.isfinite(loss)).float()
        {all}
        if bad.item():
            {then}
        loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
"""

TOGETHER = "dist.all_reduce(bad, op=dist.ReduceOp.MAX)"


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("pass", "if not torch.isfinite(norm): continue\n        optimizer.step()", "wrong"),
        ("pass", "if torch.isnan(loss): continue\n        optimizer.step()", "wrong"),
        ("pass", "if torch.isfinite(norm): optimizer.step()", "right"),
        ("pass", "if not torch.isfinite(norm): break\n        optimizer.step()", "right"),
        ("pass", "if torch.isnan(norm): raise ValueError(i)\n        optimizer.step()", "right"),
        ("if not loss.isfinite(): continue", "optimizer.step()", "wrong"),
    ],
)
def test_gradients_of_a_skipped_step_are_cleared(court, before, after, code):
    program = WINDOWS.format(before=before, after=after)

    assert court.judged(SCENARIOS["clip-per-micro-batch"], program).code == code


@pytest.mark.parametrize(
    ("all_", "then", "code"),
    [
        ("pass", "continue", "wrong"),
        pytest.param("pass", "break", "wrong", marks=pytest.mark.full),
        pytest.param("pass", "raise ValueError(i)", "right", marks=pytest.mark.full),
        pytest.param(
            TOGETHER, "loss = 0.0 * torch.nan_to_num(loss)", "right", marks=pytest.mark.full
        ),
        (TOGETHER, "break", "right"),
    ],
)
def test_ranks_decide_together(court, all_, then, code):
    program = RANKS.format(all=all_, then=then)

    assert court.judged(SCENARIOS["ddp-sync-every-micro-batch"], program).code == code


def test_only_programs_that_ask_are_run_once_more(court):
    """Where nothing asks, nothing is known of what such a batch would do, and nobody wanted to know."""
    program = WINDOWS.format(before="pass", after="optimizer.step()")

    assert court.judged(SCENARIOS["clip-per-micro-batch"], program).trace.spoiled is None
