"""Batches that a program takes of all samples by hand: their number is its own choice."""

import pytest

from tests.quality.judging import SCENARIOS, Court

CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"

SHUFFLED = """
for places in torch.randperm(len(X)).split(12):
    optimizer.zero_grad()
    criterion(model(X[places]), y[places]).backward()
    {before}
    optimizer.step()
    {behind}
"""

EVERYTHING = """
for epoch in range(num_epochs):
    optimizer.zero_grad()
    criterion(model(X), y).backward()
    {before}
    optimizer.step()
    {behind}
"""


@pytest.mark.parametrize("loop", [SHUFFLED, EVERYTHING], ids=["shuffled", "all samples at once"])
def test_a_right_loop_need_not_learn_as_fast_as_the_loader_lets_it(court: Court, loop: str) -> None:
    """A sample that is far off is in its own batch only where the loader makes the batches."""
    found = court.judged(SCENARIOS["clip-after-step"], loop.format(before=CLIP, behind="pass"))

    assert found.code == "right"


@pytest.mark.parametrize("loop", [SHUFFLED, EVERYTHING], ids=["shuffled", "all samples at once"])
def test_a_clip_after_the_step_is_wrong_in_batches_of_its_own(court: Court, loop: str) -> None:
    found = court.judged(SCENARIOS["clip-after-step"], loop.format(before="pass", behind=CLIP))

    assert found.code == "wrong"
    assert {v.property for v in found.verdicts if v.outcome == "fail"} >= {"clip-before-step"}
