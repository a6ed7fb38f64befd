from tests.fakes.traces import backward, call, probe, program, rank, skipped, trace, update
from tests.properties.verdicts import on

ID = "scaler-protocol"
S = 65536.0
IN_ORDER = tuple(
    c for k in (0, 1) for c in (call("unscale_", k), call("step", k), call("update", k + 1))
)


def amp(*calls, updates=None, **fields):
    made = updates or [update(0, true=0.2, scale=S), update(1, true=0.3, scale=S)]
    return trace(probe("quiet", ranks=[rank(made, scaler=calls)], **fields))


def test_unscale_step_update_once_a_window_pass():
    """Two rounds of it."""
    verdict = on(ID, amp(*IN_ORDER))
    assert verdict.outcome == "pass"
    assert "2 steps and 2 updates" in verdict.sentence


def test_several_optimizers_before_one_update_pass():
    """Each is unscaled and stepped once."""
    two = (call("unscale_"), call("unscale_"), call("step"), call("step"), call("update", 1))
    assert on(ID, amp(*two)).outcome == "pass"


def of_two_optimizers(windows, *, moved_between):
    """Windows of one loss for two optimizers, stepped one after the other."""
    between = ("update",) * moved_between
    methods = ("scale", "step", *between, "step", "update")
    return [call(method, k) for k in range(windows) for method in methods]


def test_a_scale_that_moves_between_two_optimizers_of_one_loss_fails():
    """The second one's gradients still carry the old scale."""
    assert on(ID, amp(*of_two_optimizers(2, moved_between=False))).outcome == "pass"
    said = on(ID, amp(*of_two_optimizers(2, moved_between=True)))
    assert said.outcome == "fail"
    assert "before the last step() on gradients of the same losses" in said.sentence


def test_a_step_for_a_rest_that_is_none_does_not_move_a_scale_too_soon():
    """It comes at the end of a pass, whether or not anything was scaled since."""
    windows = [call(m, k) for k in range(3) for m in ("scale", "step", "update")]
    assert on(ID, amp(*windows, call("step", 3), call("update", 3))).outcome == "pass"


def test_scalers_are_read_one_by_one():
    """Two networks have one each, and step side by side."""
    methods = ("scale", "step", "update")
    beside = [call(m, k, scaler=n) for k in range(2) for m in methods for n in (0, 1)]
    assert on(ID, amp(*beside)).outcome == "pass"


def test_a_complaint_of_the_scaler_fails_even_after_a_crash():
    """Its message is quoted."""
    text = "unscale_() has already been called on this optimizer since the last update()."
    crash = program("raised", exception="RuntimeError", message=text, line=9)
    verdict = on(ID, amp(call("unscale_"), call("unscale_", raised=text), program=crash))
    assert verdict.outcome == "fail"
    assert "already been called" in verdict.sentence


def test_a_second_unscale_that_is_refused_and_caught_does_no_harm():
    """Two places ask for true gradients; the second one knows that it may be late."""
    text = "unscale_() has already been called on this optimizer since the last update()."
    caught = (call("unscale_"), call("unscale_", raised=text), *IN_ORDER[1:])
    assert on(ID, amp(*caught)).outcome == "pass"
    twice = (call("unscale_"), call("unscale_"), *IN_ORDER[1:])
    assert on(ID, amp(*twice)).outcome == "fail"


def test_a_loss_that_is_no_tensor_says_nothing_of_the_order():
    """Something else came to ``scale`` than a loss."""
    text = "outputs must be a Tensor or an iterable of Tensors"
    crash = program(
        "raised", exception="ValueError", message=text, line=3, during="GradScaler.scale"
    )
    assert on(ID, amp(call("unscale_"), program=crash)).outcome != "fail"


def test_an_update_without_a_step_fails():
    """It moves the scale inside a window."""
    said = on(ID, amp(call("update"), *IN_ORDER)).sentence
    assert "update() was called before step()" in said
    assert "forgets" not in said


def test_an_update_between_unscale_and_step_is_said_to_forget_the_unscaling():
    """The step then divides by the scale once more."""
    said = on(ID, amp(call("unscale_"), call("update"), *IN_ORDER)).sentence
    assert "forgets the unscale_() before it" in said


def test_an_optimizer_that_steps_past_the_scaler_is_called_that():
    """Nothing moves a scale inside a window there."""
    said = on(ID, amp(call("unscale_"), call("update", 1), *IN_ORDER[3:])).sentence
    assert "In quiet, update 0 the optimizer stepped" in said
    assert "without scaler.step()" in said
    assert "before step()" not in said


def test_gradients_that_are_added_to_unscaled_ones_are_not_called_cleared():
    """Of the micro-batches before ``unscale_`` 1/65536 is left beside the others."""
    early = (call("scale"), call("unscale_"), *[call("scale")] * 3, call("step"), call("update", 1))
    made = [update(0, scale=S, turned=0.3, coefficients=(0.0, 1.0, 1.0, 1.0))]
    verdict = on(ID, amp(*early, updates=made))
    assert verdict.outcome == "fail"
    assert "unscale_() ran after 1 of 4 micro-batches" in verdict.sentence


def test_unscaling_after_the_last_backward_is_in_order():
    """A small first coefficient is another property's matter."""
    late = (*[call("scale")] * 4, call("unscale_"), call("step"), call("update", 1))
    made = [update(0, scale=S, turned=0.3, coefficients=(0.0, 1.0, 1.0, 1.0))]
    assert on(ID, amp(*late, updates=made)).outcome != "fail"


def test_a_step_without_any_update_fails():
    """The scale never adapts."""
    assert on(ID, amp(call("step"))).outcome == "fail"


def test_a_step_on_scaled_gradients_fails():
    """Consumed over true is the scale."""
    verdict = on(ID, amp(updates=[update(0, true=0.2, consumed=0.2 * S, scale=S)]))
    assert verdict.outcome == "fail"
    assert "stepped on scaled gradients" in verdict.sentence


def test_a_disabled_scaler_is_inconclusive():
    """Its calls do nothing, in any order."""
    inert = (call("update", enabled=False, scale_before=1.0), call("step", enabled=False))
    plain = [update(0, true=0.2), update(1, true=0.3)]
    assert on(ID, amp(*inert, updates=plain)).outcome == "inconclusive"


def test_who_looks_for_infinities_himself_may_step_without_the_scaler():
    """Where that is seen to leave out what overflows; elsewhere the step goes past the scaler."""
    by_hand = (call("unscale_"), call("update", 1), call("unscale_", 1), call("update", 2))
    quiet = amp(*by_hand).probes[0]
    steps = (backward(), backward(finite=False, after=1), backward(after=2))
    calls = (call("unscale_"), call("update", 1), call("unscale_", 1), call("update", 1))
    made = [update(0, true=0.2, scale=S), skipped(1), update(2, true=0.2, scale=S)]
    overflow = probe("overflow", ranks=[rank(made, scaler=calls, backwards=steps)])

    assert on(ID, trace(quiet, overflow), overflow_probe="overflow").outcome == "pass"
    assert "without scaler.step()" in on(ID, trace(quiet)).sentence


def test_one_window_that_is_stepped_past_the_scaler_fails_though_overflows_are_skipped():
    """The others went through it, so what skips is the scaler. A program that always steps by itself
    looks for overflows by itself.
    """
    past = (*IN_ORDER, call("unscale_", 2), call("update", 3))
    ranks = [
        rank(
            [update(0, scale=S), skipped(1), update(2, scale=S / 2)],
            backwards=tuple(backward(finite=k != 1, after=k) for k in range(3)),
        )
    ]
    overflow = probe("overflow", ranks=ranks)
    made = [update(i, true=0.2 + 0.1 * i, scale=S) for i in range(3)]
    seen = [*amp(*past, updates=made).probes, overflow]
    assert on(ID, trace(*seen), overflow_probe="overflow").outcome == "fail"


def looks_himself(*, last_finite: bool):
    """Steps without the scaler; the second gradient overflows, and either the next one is stepped with, or
    that one, painted over.
    """
    calls = (call("unscale_"), call("update", 1), call("unscale_", 1), call("update", 2))
    steps = [backward(), backward(finite=False, after=1), backward(after=2)]
    steps[2:2] = [backward(after=1)] * last_finite
    made = [
        update(0, true=0.2, scale=S),
        update(1, true=0.2, scale=S),
        update(2, true=0.2, scale=S),
    ]
    return calls, probe("overflow", ranks=[rank(made, scaler=calls, backwards=steps)])


def test_a_wrong_gradient_of_one_who_skips_overflows_himself_is_no_matter_of_the_scaler():
    """Another property names what is wrong with the clip."""
    calls, overflow = looks_himself(last_finite=True)
    made = [update(0, true=2.0, consumed=1.0, turned=0.3, scale=S), update(1, true=0.2, scale=S)]
    seen = trace(*amp(*calls, updates=made).probes, overflow)
    assert on(ID, seen, overflow_probe="overflow").outcome == "pass"


def test_who_paints_infinities_over_and_steps_goes_past_the_scaler():
    """Numbers are finite again, and the update was made all the same."""
    calls, overflow = looks_himself(last_finite=False)
    seen = trace(*amp(*calls).probes, overflow)
    assert "without scaler.step()" in on(ID, seen, overflow_probe="overflow").sentence


def test_who_skips_an_overflow_himself_and_never_steps_again_has_kept_the_order():
    """That nothing follows is another property's matter."""
    calls, overflow = looks_himself(last_finite=True)
    ended = overflow.ranks[0].model_copy(update={"updates": overflow.ranks[0].updates[:1]})
    seen = trace(*amp(*calls).probes, overflow.model_copy(update={"ranks": (ended,)}))
    assert on(ID, seen, overflow_probe="overflow").outcome == "pass"
