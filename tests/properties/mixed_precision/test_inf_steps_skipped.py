import math

from tests.fakes.traces import backward, call, probe, program, rank, skipped, trace, update
from tests.properties.verdicts import on

ID = "inf-steps-skipped"
WHERE = {"overflow_probe": "overflow"}


def overflow(*updates, **fields):
    return trace(probe("overflow", *updates, **fields))


def test_a_skipped_update_that_others_follow_passes():
    """The parameters stayed finite."""
    assert on(ID, overflow(update(0), skipped(1), update(2)), **WHERE).outcome == "pass"


def test_an_infinite_gradient_that_is_consumed_fails():
    """Stepped past the scaler."""
    spoiled = update(1, consumed_norm=math.inf, consumed_finite=False, parameters_finite=False)
    verdict = on(ID, overflow(update(0), spoiled), **WHERE)
    assert verdict.outcome == "fail"
    assert "instead of being skipped" in verdict.sentence


def test_a_run_that_ends_on_the_overflow_fails():
    """error_if_nonfinite=True kills a routine skip."""
    ended = program("raised", exception="RuntimeError", message="The total norm is non-finite")
    seen = rank([update(0)], backwards=(backward(), backward(finite=False, after=1)))
    assert on(ID, trace(probe("overflow", ranks=[seen], program=ended)), **WHERE).outcome == "fail"


def test_training_that_never_resumes_fails():
    """Every later update is skipped as well."""
    assert on(ID, overflow(update(0), skipped(1), skipped(2)), **WHERE).outcome == "fail"


def searching(lowered=3, *, finite=True):
    """Three updates, all of them skipped."""
    updates = [call("update", i, scale_after=2.0 ** (15 - i)) for i in range(lowered)]
    backwards = [backward(finite=finite and i > 0, after=i) for i in range(3)]
    ranks = [rank([skipped(i) for i in range(3)], scaler=updates, backwards=backwards)]
    return on(ID, trace(probe("overflow", ranks=ranks)), **WHERE).outcome


def test_a_scale_that_is_still_looked_for_is_inconclusive():
    """A loss that is not divided overflows at a scale that fits one that is."""
    assert searching() == "inconclusive"
    assert searching(lowered=0) == "fail"  # the scaler is never updated
    assert searching(finite=False) == "fail"  # the overflow is never cleared


def kept(*, second=0.3, finite=False, scale=2.0**15):
    return kept_by((0.8, 1e6, second, 0.2), finite=finite, scale=scale)


def kept_by(*losses_of_ranks, finite=False, scale=2.0**15):
    """A sound update, one that overflows and is skipped, another that is skipped, and a sound one."""
    scales = (2.0**16, 2.0**16, scale, 2.0**14)
    steps = (update(0), skipped(1), skipped(2), update(3))
    made = [u.model_copy(update={"loss_scale": s}) for u, s in zip(steps, scales, strict=True)]
    sound = (True, False, finite, True)
    ranks = [
        rank(
            made,
            backwards=[
                backward(loss=loss * scales[i], finite=sound[i], after=i)
                for i, loss in enumerate(losses)
            ],
        )
        for losses in losses_of_ranks
    ]
    return on(ID, trace(probe("overflow", ranks=ranks)), **WHERE)


def test_a_second_overflow_right_after_the_first_passes():
    """Its loss is as large, is NaN, or had no lower scale; or the gradients were finite at first."""
    assert kept(second=3.0).outcome == "pass"
    assert kept(second=math.nan).outcome == "pass"
    assert kept(scale=2.0**16).outcome == "pass"
    assert kept(finite=True).outcome == "pass"


def test_a_window_left_out_by_hand_passes():
    """Testing the norm and clearing is as good."""
    seen = rank([update(0), update(1)], backwards=(backward(), backward(finite=False, after=1)))
    assert on(ID, trace(probe("overflow", ranks=[seen])), **WHERE).outcome == "pass"


def test_without_an_overflow_it_is_inconclusive():
    """Nothing had to be skipped."""
    assert on(ID, overflow(update(0), update(1)), **WHERE).outcome == "inconclusive"
    assert on(ID, overflow(update(0), skipped(1))).outcome == "inconclusive"


def test_a_run_that_ends_as_it_does_without_an_overflow_is_not_held_against_it():
    """A program that raises at its line 30 in any probe is broken there."""
    ended = program("raised", exception="TypeError", message="unsupported operand", line=30)
    seen = rank([update(0)], backwards=(backward(), backward(finite=False, after=1)))
    broken = probe("overflow", ranks=[seen], program=ended)
    other = probe("quiet", update(0), program=ended)
    assert on(ID, trace(other, broken), **WHERE).outcome == "inconclusive"
    assert on(ID, trace(probe("quiet", update(0)), broken), **WHERE).outcome == "fail"


def test_infinities_that_stay_in_the_gradients_fail():
    """A window with a small loss is skipped at half of a scale at which a larger one was sound."""
    assert kept().outcome == "fail"
    assert "were still in .grad" in kept().sentence


def test_an_overflow_of_another_rank_is_no_infinity_that_stayed():
    """What it sends to the others is infinite, though their own losses are small."""
    one = kept_by((0.8, 1e6, 0.3, 0.2), (0.8, 0.9, 1e6, 0.2))
    assert one.outcome == "pass"
    assert kept_by((0.8, 1e6, 0.3, 0.2), (0.8, 0.9, 0.3, 0.2)).outcome == "fail"
