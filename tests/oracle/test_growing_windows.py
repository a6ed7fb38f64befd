"""Windows that grow while training goes on are meant, where each has the mean of its own."""

import pytest

from tests.quality.judging import SCENARIOS, Court

LOOP = """
k, done = 1, 0
left = len(train_loader)
batches = iter(train_loader)
while left:
    take = min(k, left)
    optimizer.zero_grad()
    for _ in range(take):
        x, y = next(batches)
        loss = criterion(model(x), y){divided}
        loss.backward()
    optimizer.step()
    left, done = left - take, done + 1
    k = {then}
"""

DOUBLED = "min(2 * k, 4) if done % 2 == 0 else k"


def judged(court: Court, then: str = DOUBLED, divided: str = " / take") -> str:
    return court.judged(
        SCENARIOS["zero-grad-missing"], LOOP.format(then=then, divided=divided)
    ).code


def test_windows_that_double_now_and_then_are_right(court: Court) -> None:
    assert judged(court) == "right"


@pytest.mark.parametrize("divided", ["", " / 4"])
def test_windows_that_double_and_keep_their_divisor_are_wrong(court: Court, divided: str) -> None:
    assert judged(court, divided=divided) == "wrong"


@pytest.mark.parametrize("then", ["4", "4 if k == 1 else 1"])
def test_a_first_window_of_one_batch_and_windows_by_turns_are_wrong(
    court: Court, then: str
) -> None:
    """That is a count from 0, and no growth."""
    assert judged(court, then) == "wrong"
