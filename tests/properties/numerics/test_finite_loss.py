import math

from tests.fakes.traces import (
    backward,
    probe,
    program,
    rank,
    skipped,
    trace,
    update,
)
from tests.properties.verdicts import on

ID = "finite-loss"


def test_finite_losses_pass_and_are_counted():
    """Every scalar root of a backward counts."""
    verdict = on(ID, trace(probe("plain", update(0), update(1))))
    assert verdict.outcome == "pass"
    assert "8 losses" in verdict.sentence


def test_a_backward_from_nan_fails_with_its_place():
    """The sentence says after how many updates."""
    seen = rank([update(0)], backwards=(backward(1.0), backward(math.nan, after=1)))
    verdict = on(ID, trace(probe("deep", ranks=[seen])))
    assert verdict.outcome == "fail"
    assert "deep, after 1 update" in verdict.sentence


def test_a_loss_that_was_not_finite_fails_even_if_the_program_was_killed_later():
    """What was recorded before a timeout stands."""
    seen = rank([], backwards=(backward(math.inf),))
    killed = program("not-completed", message="timeout")
    assert on(ID, trace(probe("deep", ranks=[seen], program=killed))).outcome == "fail"


def test_a_loss_whose_update_the_scaler_skipped_is_lawful():
    """In half precision overflows are routine."""
    seen = rank([update(0), skipped(1)], backwards=(backward(1.0), backward(math.inf, after=1)))
    assert on(ID, trace(probe("half", ranks=[seen]))).outcome == "pass"


def test_the_poisoned_probe_is_not_its_business():
    """There the loss is NaN whatever the program computes."""
    seen = trace(probe("poisoned", ranks=[rank([], backwards=(backward(math.nan),))]))
    assert on(ID, seen, poisoned_probe="poisoned").outcome == "inconclusive"


def test_without_a_scalar_loss_it_is_inconclusive():
    """A backward from a vector has no value to look at."""
    seen = trace(probe("plain", ranks=[rank([update(0)], backwards=(backward(None),))]))
    assert on(ID, seen).outcome == "inconclusive"
