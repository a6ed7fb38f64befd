"""What the oracle makes of real programs that step twice, or leave a batch out."""

from collections.abc import Iterator

import pytest

from harness.sandbox.executor import JailedExecutor
from tests.quality.judging import SCENARIOS, Court, open_court

PADDING = SCENARIOS["padding-and-accumulation"]


@pytest.fixture(scope="module")
def court() -> Iterator[Court]:
    with JailedExecutor(parallel=2) as executor:
        yield open_court(executor)


def test_a_second_step_consumes_the_gradient_of_the_window_before(court: Court) -> None:
    """It has no micro-batch of its own, and still a gradient with the names of the model."""
    twice = PADDING.reference.replace("optimizer.step()", "optimizer.step(); optimizer.step()")

    found = court.judged(PADDING, twice)

    again = found.trace.probes[0].updates[1]
    assert again.window_size == 0
    assert [round(m.coefficient or 0.0, 4) for m in again.micro_batches] == [1.0] * 4
    assert "one-update-per-window" in found.failed


def test_a_batch_that_never_enters_the_model_is_lost_when_its_pass_went_to_the_end(
    court: Court,
) -> None:
    """Collected for a window that never filled up: no backward ever shows it."""
    dropped = PADDING.reference.replace(" and i + 1 < len(train_loader)", "")

    rank = court.judged(PADDING, dropped).trace.probes[0].ranks[0]

    assert (rank.batches_lost, rank.lost_at_end, rank.batches_yielded) == (2, 2, 14)


def test_batches_that_are_left_over_when_a_program_stops_early_are_not_lost(court: Court) -> None:
    """Somebody wanted ten batches, not all."""
    few = PADDING.reference.replace("window.append(", "if i == 12: break\n    window.append(")

    rank = court.judged(PADDING, few).trace.probes[0].ranks[0]

    assert rank.batches_lost == 0
