import math

from tests.fakes.traces import probe, program, skipped, trace, update
from tests.properties.verdicts import on

ID = "nan-reported-before-backward"
WHERE = {"poisoned_probe": "poisoned"}


def poisoned(*updates, said=True, outcome="returned"):
    ended = program(outcome, reported_before_backward=said, exception="ValueError")
    return trace(probe("poisoned", *updates, program=ended))


def test_a_report_without_an_update_from_it_passes():
    """Both halves are needed."""
    assert on(ID, poisoned(update(0), update(1)), **WHERE).outcome == "pass"


def test_raising_counts_as_a_report():
    """Stopping there is an answer, not a crash."""
    assert on(ID, poisoned(update(0), outcome="raised"), **WHERE).outcome == "pass"


def test_a_poisoned_batch_that_nobody_reports_fails():
    """Skipping the batch without a word hides its origin."""
    verdict = on(ID, poisoned(update(0), said=False), **WHERE)
    assert verdict.outcome == "fail"
    assert "nothing was printed" in verdict.sentence


def test_an_update_from_it_fails_even_if_it_was_reported():
    """Saying so and training on is no guard."""
    spoiled = update(1, consumed_finite=False, consumed_norm=math.nan, parameters_finite=False)
    verdict = on(ID, poisoned(update(0), spoiled), **WHERE)
    assert verdict.outcome == "fail"
    assert "update 1" in verdict.sentence


def test_an_update_that_a_scaler_skipped_is_none():
    """Nothing was trained from it."""
    assert on(ID, poisoned(update(0), skipped(1)), **WHERE).outcome == "pass"


def test_without_a_poisoned_forward_it_is_inconclusive():
    """The loop never saw the batch, or there is no such probe."""
    assert on(ID, poisoned(update(0), said=None), **WHERE).outcome == "inconclusive"
    assert on(ID, poisoned(update(0))).outcome == "inconclusive"
