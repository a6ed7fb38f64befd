import math

from tests.fakes.traces import match, norms, parameter, probe, quiet_and_loud, rank, trace, update
from tests.properties.verdicts import on

ID = "clip-global-norm"
QUIET = probe("quiet", *(update(i, true=n) for i, n in enumerate(norms(0.1))))


def loud(*updates):
    return trace(QUIET, probe("loud", *updates))


def test_the_true_direction_at_the_threshold_passes():
    """In every loud window."""
    verdict = on(ID, quiet_and_loud())
    assert verdict.outcome == "pass"
    assert "at norm 1" in verdict.sentence


def test_calls_with_nothing_to_clip_fail():
    """A returned norm of 0 is the tell."""
    calls = ("clip_grad_norm_(0 gradients) returned 0.0",)
    verdict = on(ID, loud(*(update(i, true=n, clip_calls=calls) for i, n in enumerate(norms(9)))))
    assert verdict.outcome == "fail"
    assert "0 gradients" in verdict.sentence
    assert "used up, a list made before there were gradients, or copies" in verdict.sentence


def test_a_clip_now_and_then_fails():
    """Three of four windows pass raw."""
    first, *rest = norms(9)
    raw = (update(i + 1, true=n) for i, n in enumerate(rest))
    verdict = on(ID, loud(update(0, true=first, consumed=1.0), *raw))
    assert verdict.outcome == "fail"
    assert "Clipping acted in 1 of 4" in verdict.sentence
    assert "Clip before every step" in verdict.sentence


def test_a_window_in_which_rounding_is_as_large_as_a_clip_tells_nothing():
    """Half precision that nearly cancels out: a clipped gradient counts as whole there."""
    first, second, *rest = norms(9)
    clipped = [update(n, true=true, consumed=1.0) for n, true in enumerate((first, second))]
    blunt = (update(i + 2, true=n, tolerance=0.84) for i, n in enumerate(rest))
    assert on(ID, loud(*clipped, *blunt)).outcome == "pass"


def test_a_window_at_the_threshold_shows_a_clip_however_large_rounding_may_be():
    clipped = [update(n, true=true, consumed=1.0, tolerance=0.3) for n, true in enumerate(norms(9))]

    assert on(ID, loud(*clipped)).outcome == "pass"


def unclipped(call):
    """What is said of a loud window that this call left as it was, beside one that was clipped."""
    raw = update(1, true=40.0, clip_calls=(call,))
    return on(ID, loud(update(0, true=9.0, consumed=1.0), raw)).sentence


def test_a_clip_that_did_nothing_is_told_by_what_it_was_given():
    """No gradient, a threshold out of reach, or another norm."""
    assert "as it was given no gradient" in unclipped(
        "clip_grad_norm_(0 gradients) at 1 returned 0.0"
    )
    assert "as its threshold was 500." in unclipped(
        "clip_grad_norm_(2 gradients) at 500 returned 40.0"
    )
    assert "as it took 0.9 for a norm that is 40" in unclipped(
        "clip_grad_norm_(2 gradients) at 1 returned 0.9"
    )


def left(consumed, call, **fields):
    """What is said of loud windows that this call left at another norm than was asked for."""
    seen = [
        update(i, true=n, consumed=consumed * (1 + 0.1 * i), clip_calls=(call,), **fields)
        for i, n in enumerate(norms(9))
    ]
    return on(ID, loud(*seen)).sentence


def test_a_clip_that_left_another_norm_is_told_by_its_call():
    """Its threshold, with the loss scale that was still on it, or the norm that it took."""
    assert "it was called at 3. Use" in left(3.0, "clip_grad_norm_(2 gradients) at 3 returned 9.0")
    scaled = left(2.0, "clip_grad_norm_(2 gradients) at 65536 returned 9e5", scale=32768.0)
    assert "it was called at 6.55e+04 under a loss scale of 32768" in scaled
    assert "it took 4 for a norm that is 9" in left(
        3.0, "clip_grad_norm_(2 gradients) at 1 returned 4"
    )
    more = left(0.6, "clip_grad_norm_(5 gradients) at 1 returned 15")
    assert "it took 15 for a norm that is 9: it counts gradients that this step" in more
    scaled = left(0.6, "clip_grad_norm_(2 gradients) at 1 returned 9e5", scale=32768.0)
    assert "it counts gradients" not in scaled
    part = left(3.0, "clip_grad_norm_(2 gradients) at 1 returned 4", scale=16384.0)
    assert "or that of a part" in part
    taken = left(3.0, "get_total_norm(2 gradients) returned 4")
    assert "it took 4 for a norm that is 9" in taken
    assert "multiply once by threshold over norm" in left(
        3.0, "get_total_norm(2 gradients) returned 9"
    )


def test_a_factor_for_each_parameter_fails():
    """One part is clipped, the other is not."""
    parts = [parameter("net.0.weight", 7.0, 1.0), parameter("net.2.weight", 7.0, 7.0)]
    one = match(true=10.0, consumed=7.1, turned=0.6, parameters=parts)
    seen = update(
        0, true=10, consumed=7.1, matches=[one], unexplained=0.5, unexplained_by_parameter=0.0
    )
    verdict = on(ID, loud(seen))
    assert verdict.outcome == "fail"
    assert "0.143 to 1" in verdict.sentence


def test_a_factor_for_each_element_fails_where_quiet_gradients_are_exact():
    """Clipping by value turns the direction."""
    cut = update(
        0, true=10, consumed=3.0, turned=0.5, unexplained=0.4, unexplained_by_parameter=0.4
    )
    assert on(ID, loud(cut)).outcome == "fail"
    assert on(ID, trace(probe("loud", cut))).outcome == "inconclusive"
    by_hook = cut.model_copy(update={"elements_cut_at": 1.0})
    assert on(ID, trace(probe("loud", by_hook))).outcome == "fail"


def test_a_factor_for_each_rank_fails():
    """Clipped before synchronisation."""
    halves = update(0, true=10, consumed=0.9, turned=0.3, coefficients=(0.1, 0.1, 0.1, 0.1))
    ranks = [{"rank": 0, "coefficient": 0.1}] * 2 + [{"rank": 1, "coefficient": 0.05}] * 2
    window = tuple(m.model_copy(update=r) for m, r in zip(halves.micro_batches, ranks, strict=True))
    seen = halves.model_copy(update={"micro_batches": window})
    verdict = on(ID, trace(QUIET, probe("loud", ranks=[rank([seen]), rank([seen], 1)])))
    assert verdict.outcome == "fail"
    assert "each rank clipped its own" in verdict.sentence


def test_a_threshold_other_than_the_named_one_fails():
    """Where the scenario leaves the choice, it passes."""
    seen = quiet_and_loud(threshold=3.0)
    assert on(ID, seen).outcome == "fail"
    assert on(ID, seen, max_norm=None, max_norm_between=(0.5, 5.0)).outcome == "pass"


def test_where_parts_are_judged_or_nothing_is_loud_it_is_inconclusive():
    """Other properties own these."""
    groups = {"head": {"prefix": "net.2", "bounded_by": 1.0}}
    assert on(ID, quiet_and_loud(), groups=groups).outcome == "inconclusive"
    assert on(ID, trace(QUIET)).outcome == "inconclusive"


TWICE = [update(i, true=n, consumed=1.0 / n) for i, n in enumerate(norms(9))]
"""Threshold over norm, applied twice."""


def test_a_factor_applied_twice_fails_where_quiet_gradients_are_exact():
    """What is left lies below the threshold, the lower the louder the gradient was."""
    verdict = on(ID, loud(*TWICE))
    assert verdict.outcome == "fail"
    assert "applied twice" in verdict.sentence


def test_norms_below_the_threshold_that_follow_no_rule_fail_where_quiet_gradients_are_exact():
    """Only the clip can have shrunk them."""
    low = [update(i, true=n, consumed=0.1 + 0.2 * i) for i, n in enumerate(norms(9))]
    verdict = on(ID, loud(*low))
    assert verdict.outcome == "fail"
    assert "below the threshold" in verdict.sentence


def test_a_factor_applied_twice_fails_even_without_quiet_windows():
    """Neither the factor nor the norm is constant, so it is no divisor and no threshold."""
    chosen = {"max_norm": None, "max_norm_between": (0.5, 5.0)}
    assert on(ID, trace(probe("loud", *TWICE)), **chosen).outcome == "fail"


def test_a_factor_applied_twice_fails_although_what_is_left_may_be_chosen():
    """Threshold 5, and what is left lies between 0.5 and 5: the product with the true norm tells."""
    twice = [update(i, true=n, consumed=25.0 / n) for i, n in enumerate(norms(9))]
    chosen = {"max_norm": None, "max_norm_between": (0.5, 5.0)}
    assert on(ID, trace(probe("loud", *twice)), **chosen).outcome == "fail"


def test_a_constant_divisor_is_not_taken_for_a_clip():
    """Without quiet windows the factor alone tells them apart."""
    divided = [update(i, true=n, consumed=n / 400) for i, n in enumerate(norms(9))]
    assert on(ID, trace(probe("loud", *divided))).outcome == "inconclusive"


def test_norms_that_differ_within_what_may_be_chosen_pass():
    """A threshold may follow the norms that were seen."""
    adaptive = [update(i, true=n, consumed=1.0 + 0.3 * i) for i, n in enumerate(norms(20))]
    chosen = {"max_norm": None, "max_norm_between": (0.5, 5.0)}
    assert on(ID, loud(*adaptive), **chosen).outcome == "pass"


def test_a_clip_by_value_fails_without_quiet_windows_when_it_was_called():
    """The call explains a direction that no factor does."""
    fields = {"turned": 0.5, "unexplained": 0.4, "unexplained_by_parameter": 0.4}
    cut = update(0, true=10, consumed=3.0, **fields)
    called = cut.model_copy(update={"clip_calls": ("clip_grad_value_(4 gradients) returned None",)})
    assert on(ID, trace(probe("loud", called))).outcome == "fail"
    assert on(ID, trace(probe("loud", cut))).outcome == "inconclusive"


def test_windows_that_a_clip_by_value_left_whole_are_told_as_that():
    """Their norm is far above the threshold, and no element reaches the limit."""
    value = ("clip_grad_value_(4 gradients) returned None",)
    fields = {"turned": 0.5, "unexplained": 0.4, "unexplained_by_parameter": 0.4}
    cut = update(0, true=10, consumed=3.0, clip_calls=value, **fields)
    verdict = on(ID, trace(probe("loud", cut, update(1, true=9, clip_calls=value))))

    assert verdict.outcome == "fail"
    assert "bounds elements, not the norm" in verdict.sentence


def leaving(short):
    """Full windows that are clipped, and the short one after them."""
    full = [update(i, true=n, consumed=1.0) for i, n in enumerate(norms(9))]
    ranks = [rank([*full, short]), rank([*full, short], 1)]
    return on(ID, trace(QUIET, probe("loud", ranks=ranks)))


def test_a_short_last_window_that_is_not_clipped_fails():
    """It is an update like the others."""
    verdict = leaving(update(4, true=7.0, coefficients=(1.0, 1.0), short=True))
    assert verdict.outcome == "fail"
    assert "norm 7; full windows are clipped to 1" in verdict.sentence
    clipped = update(4, true=7.0, consumed=1.0, coefficients=(0.14, 0.14), short=True)
    assert leaving(clipped).outcome == "pass"
    assert leaving(update(4, true=0.7, coefficients=(1.0, 1.0), short=True)).outcome == "pass"


def test_a_short_last_window_that_is_clipped_on_each_rank_fails():
    """And averaged afterwards."""
    short = update(4, true=7.0, consumed=0.9, turned=0.04, coefficients=(0.13, 0.11), short=True)
    both = tuple(m.model_copy(update={"rank": i}) for i, m in enumerate(short.micro_batches))
    verdict = leaving(short.model_copy(update={"micro_batches": both}))
    assert verdict.outcome == "fail"
    assert "factors 0.13, 0.11: each rank clipped its own" in verdict.sentence


def test_a_clip_over_the_model_beside_which_another_tensor_is_trained_passes():
    """A clip of its own for that, or none."""
    seen = [
        update(i, true=n, consumed=1.0).model_copy(update={"consumed_norm": 1.4})
        for i, n in enumerate(norms(9))
    ]
    assert on(ID, loud(*seen)).outcome == "pass"


def banded(*left):
    """Loud windows whose true norms go up and down, each clipped to the norm that is given."""
    true = (30, 48, 25, 60, 33, 41, 29)
    seen = (update(i, true=t, consumed=n) for i, (t, n) in enumerate(zip(true, left, strict=False)))
    return on(ID, loud(*seen), max_norm=None, max_norm_between=(0.5, 5.0))


def test_a_threshold_that_stays_or_follows_something_passes():
    for left in ([1.0] * 6, [1.0, 1.05], [1.0, 1.0, 1.1, 1.1, 1.21], [1.0, 1.3, 1.1, 1.6, 1.2]):
        assert banded(*left).outcome == "pass"


def test_a_probe_in_which_most_loud_updates_consume_nothing_fails():
    """As where the loss is cut off. One spike that is zeroed is no such thing."""
    lost = [update(i, true=40.0, consumed=0.0) for i in range(5)]
    calm = update(5, true=3.0)
    verdict = on(ID, loud(*lost, calm))
    assert verdict.outcome == "fail"
    assert "5 of 6 updates" in verdict.sentence

    clipped = [update(i, true=n, consumed=1.0) for i, n in enumerate(norms(9))]
    assert on(ID, loud(*clipped, update(4, true=40.0, consumed=0.0))).outcome != "fail"


def beside_the_model(*norms, limit=1.0):
    """One clip over a model and a learned scale, whose gradient is as large as half the model's."""
    whole = math.hypot(1.0, 0.5)
    seen = []
    for i, true in enumerate(norms):
        factor = min(1.0, limit / (whole * true))
        one = update(i, true=true, consumed=factor * true)
        seen.append(one.model_copy(update={"consumed_norm": factor * true * whole}))
    return on(ID, loud(*seen), max_norm=1.0)


def test_one_clip_over_more_than_the_model_is_judged_on_all_that_it_clips():
    """A learned loss weight, temperature or offset in the same optimizer."""
    assert beside_the_model(*norms(9)).outcome == "pass"
    assert beside_the_model(*norms(9), limit=0.5).outcome == "fail"
    assert beside_the_model(*norms(9), limit=100.0).outcome != "pass"
