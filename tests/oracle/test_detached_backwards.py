"""Which calls of backward reached nothing, in real programs."""

import pytest

from tests.quality.judging import SCENARIOS, Court

LOOP = """
import torch

for i, (x, y) in enumerate(train_loader):
    {before}
    (criterion(model(x), y) / 4).backward()
    if (i + 1) % 4 == 0 or i + 1 == len(train_loader):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""


def in_vain(court: Court, before: str) -> list[int]:
    """For each probe, how many calls of backward reached nothing, and how many there were."""
    found = court.judged(SCENARIOS["all-three-techniques"], LOOP.format(before=before))
    ranks = [rank for probe in found.trace.probes for rank in probe.ranks]
    return [sum(b.in_vain for b in rank.backwards) for rank in ranks]


def test_a_loss_that_is_cut_off_reaches_nothing(court: Court) -> None:
    """Once a micro-batch, beside the backward that arrives."""
    cut = in_vain(court, "criterion(model(x), y).detach().requires_grad_().backward()")
    assert cut == [14, 14, 14]


@pytest.mark.full
def test_a_penalty_on_the_weights_reaches_them_without_a_forward(court: Court) -> None:
    """No gradient flows back into a forward, and those of the parameters change."""
    penalty = "(1e-3 * sum(p.pow(2).sum() for p in model.parameters())).backward()"
    assert in_vain(court, penalty) == [0, 0, 0]
