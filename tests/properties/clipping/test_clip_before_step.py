from tests.fakes.traces import norms, probe, quiet_and_loud, trace, update
from tests.properties.verdicts import on

ID = "clip-before-step"


def loud(**fields):
    return trace(probe("loud", *(update(i, true=n, **fields) for i, n in enumerate(norms(10)))))


def test_clipped_loud_windows_pass():
    """With the largest true norm as evidence."""
    verdict = on(ID, quiet_and_loud())
    assert verdict.outcome == "pass"
    assert "consumed 1 of a true norm of 19" in verdict.sentence


def test_raw_loud_windows_fail():
    """Nothing clipped them."""
    verdict = on(ID, loud())
    assert verdict.outcome == "fail"
    assert "nothing clipped it" in verdict.sentence


def test_a_clip_after_the_step_fails_as_such():
    """What is left of the gradients changes afterwards."""
    verdict = on(ID, loud(changed_after_step=0.9))
    assert verdict.outcome == "fail"
    assert (
        "the clip came after the step (it changed by 90% what had been consumed)"
        in verdict.sentence
    )


def test_a_clip_that_finds_nothing_is_not_said_to_change_by_nothing():
    """It ran before backward, on cleared gradients."""
    said = on(ID, loud(changed_after_step=0.0)).sentence
    assert "between a step and the next backward, with nothing there to clip" in said
    assert "%" not in said


def test_a_clip_after_the_step_fails_whatever_its_threshold():
    """The scenario names none; a gradient that arrived whole was meant to be clipped. Logs are not."""
    verdict = on(ID, loud(late_threshold=1.0), max_norm=None)

    assert verdict.outcome == "fail"
    assert "threshold 1 came afterwards" in verdict.sentence
    assert on(ID, loud(late_threshold=1e9), max_norm=None).outcome == "inconclusive"


def test_a_clip_before_the_last_backward_fails():
    """All but the last micro-batch were scaled down."""
    early = [
        update(i, true=n, consumed=6.0, turned=0.5, coefficients=(0.05, 0.1, 0.2, 1.0))
        for i, n in enumerate(norms(10))
    ]
    verdict = on(ID, trace(probe("loud", *early)))
    assert verdict.outcome == "fail"
    assert "before the last backward" in verdict.sentence


def test_a_clip_of_nothing_in_time_is_another_fault():
    """An exhausted iterator is named by the property about the whole gradient, whatever was measured
    beside it.
    """
    measured = "get_total_norm(6 gradients) returned 10.0"
    empty = "clip_grad_norm_(0 gradients) returned 0.0"
    at_infinity = "clip_grad_norm_(6 gradients) at inf returned 10.0"
    for calls in ((empty,), (measured, empty), (empty, measured), (at_infinity, empty)):
        seen = loud(clip_calls=calls)
        assert on(ID, seen).outcome == "inconclusive"
        assert empty in on("clip-global-norm", seen).sentence
    assert on(ID, loud(clip_calls=(empty, at_infinity))).outcome == "fail"


def test_without_loud_windows_or_a_threshold_it_is_inconclusive():
    """Quiet gradients pass untouched in every loop."""
    quiet = trace(probe("quiet", update(0, true=0.1)))
    assert on(ID, quiet).outcome == "inconclusive"
    assert on(ID, loud(), max_norm=None).outcome == "inconclusive"


def test_a_clip_after_the_step_fails_though_an_exploded_window_looks_clipped():
    """Once unclipped training explodes, a gradient in single precision can fall short of the true one."""
    late = [update(i, true=n, changed_after_step=0.9) for i, n in enumerate(norms(10))]
    exploded = update(4, true=1e30, consumed=1e22)
    verdict = on(ID, trace(probe("loud", *late, exploded)))
    assert verdict.outcome == "fail"
    assert "Clip after the last backward" in verdict.sentence


def test_a_loop_that_never_clips_and_explodes_is_named_for_that():
    """After a spike units are saturated, and gradients are no longer exact."""
    raw = [update(i, true=n) for i, n in enumerate(norms(10))]
    exploded = update(9, true=1e6, consumed=0.9996e6, turned=1e-4)
    verdict = on(ID, trace(probe("loud", *raw, exploded)))
    assert verdict.outcome == "fail"
    assert "1e+06" in verdict.sentence


def test_a_clip_whose_threshold_nothing_reaches_is_named_for_that():
    """Whoever calls a clip at infinity is not told to call one."""
    said = on(ID, loud(clip_calls=("clip_grad_norm_(4 gradients) at inf returned 19.0",))).sentence

    assert "the clip did nothing, as its threshold was inf. Keep it at what was asked for." in said
    assert "Call torch" not in said


def divided_later(*shares):
    """Windows whose gradients are divided by four after the last backward; loud ones are scaled so."""
    quiet = (update(i, true=n, coefficients=(0.25,) * 4) for i, n in enumerate(norms(0.1)))
    scaled = [0.25 * share for share in shares]
    bad = (
        update(i, true=n, consumed=1.5, turned=0.5, coefficients=scaled)
        for i, n in enumerate(norms(10))
    )
    return on(ID, trace(probe("quiet", *quiet), probe("loud", *bad)))


def test_a_clip_before_the_last_backward_fails_where_gradients_are_divided_later():
    """The last micro-batch has the coefficient of all micro-batches that no clip touched."""
    verdict = divided_later(0.001, 0.01, 0.1, 1.0)
    assert verdict.outcome == "fail"
    assert "before the last backward" in verdict.sentence
    assert divided_later(0.001, 0.01, 0.1, 0.5).outcome == "pass"  # clipped after each backward
