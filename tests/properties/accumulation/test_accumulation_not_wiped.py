from tests.fakes.traces import match, probe, trace, update
from tests.properties.verdicts import on

ID = "accumulation-not-wiped"
CALLS = ("clip_grad_norm_(4 gradients) returned 3.0",)


def test_windows_that_are_not_wiped_pass():
    """A right gradient holds every micro-batch."""
    verdict = on(ID, trace(probe("plain", update(0), update(1))))
    assert verdict.outcome == "pass"
    assert "2 full windows" in verdict.sentence


def test_a_window_of_which_the_last_micro_batch_is_left_fails():
    """Even at a norm of exactly the threshold."""
    last = update(
        0, true=10, consumed=1.0, turned=1.2, coefficients=(0, 0, 0, 0.2), clip_calls=CALLS
    )
    verdict = on(ID, trace(probe("loud", last)))
    assert verdict.outcome == "fail"
    assert "3 of 4 micro-batches" in verdict.sentence


def test_a_zero_filled_gradient_fails():
    """Cleared between backward and step, with zeros left in place."""
    nothing = update(0, consumed=0.0, coefficients=(None,) * 4)
    assert on(ID, trace(probe("plain", nothing))).outcome == "fail"


def test_tiny_shares_of_a_loud_window_that_was_clipped_often_are_not_wiped():
    """Clipping each micro-batch leaves next to nothing of the first ones."""
    often = update(
        0,
        true=90,
        consumed=1.0,
        turned=0.9,
        coefficients=(1e-7, 1e-5, 1e-4, 0.02),
        clip_calls=CALLS * 4,
    )
    assert on(ID, trace(probe("loud", often))).outcome == "inconclusive"


def test_samples_that_another_forward_brings_are_not_lost():
    """Two passes over the same samples for one update (sharpness-aware steps, line searches)."""
    twice = update(0, turned=0.5, coefficients=(0.0, 1.0))
    same = tuple(m.model_copy(update={"samples": (1, 2)}) for m in twice.micro_batches)
    seen = trace(probe("plain", twice.model_copy(update={"micro_batches": same})))
    assert on(ID, seen).outcome != "fail"


def test_windows_of_one_are_inconclusive():
    """There is nothing to wipe."""
    single = update(0, coefficients=(1.0,))
    assert on(ID, trace(probe("plain", single))).outcome == "inconclusive"


def test_windows_that_cannot_be_taken_apart_are_inconclusive():
    """Coefficients are missing and the gradient is not right."""
    unknown = update(0, coefficients=(None,) * 4, matches=[match(turned=0.4)])
    assert on(ID, trace(probe("plain", unknown))).outcome == "inconclusive"


def test_a_window_whose_gradients_were_all_cleared_before_the_step_fails():
    """The others are whole, and so is the loss curve."""
    empty = update(1, consumed=0.0, matches=(), coefficients=(None,) * 4)
    verdict = on(ID, trace(probe("plain", update(0), empty, update(2))))
    assert verdict.outcome == "fail"
    assert "4 of 4 micro-batches did not reach" in verdict.sentence


def under_a_scale(*calls):
    gone = update(
        0, true=0.2, consumed=1e-5, turned=1.2, coefficients=(0, 0, 0, 0.2), scale=65536.0
    )
    return on(ID, trace(probe("quiet", gone.model_copy(update={"clip_calls": calls})))).sentence


def test_clips_of_gradients_that_carry_a_loss_scale_are_not_said_to_clear_them():
    """Each cuts what had been gathered to a ten-thousandth; one of them cannot have cut three."""
    cut = "clip_grad_norm_(4 gradients) at 1.0 returned 15440.0"
    often = under_a_scale(*[cut] * 4)
    assert "3 of 4 micro-batches did not reach the optimizer" in often
    assert (
        "4 clips in this window cut what had been gathered to 1, one of them from 1.54e+04" in often
    )
    assert "still carries the loss scale of 65536" in often
    assert "Clear the gradients once a window" in under_a_scale(cut)
