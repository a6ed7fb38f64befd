"""Every property guards everywhere: what a trace holds decides what judges it, not the topic."""

import math

import pytest

from harness.domain.grade import code_of
from harness.domain.scenario import Expectations, PropertyRule
from harness.domain.trace import Trace
from harness.properties import judge_by
from harness.properties.evidence.settings import own_threshold, settings_of
from tests.fakes.traces import call, match, norms, probe, quiet_and_loud, rank, trace, update

SILENT = Expectations()
"""A scenario that asks for no clip, no accumulation and no parts."""

ABOUT = (PropertyRule(id="finite-loss"),)
"""What it is about: something else."""


def levels(seen: Trace, expects: Expectations = SILENT, *rules: PropertyRule) -> dict[str, str]:
    """What judges a trace, and what its failure does."""
    return {v.property: v.level for v in judge_by(seen, rules or ABOUT, expects)}


def clipping(limit: float, **fields) -> Trace:
    """A loop that hands all four gradients to one clip."""
    said = f"clip_grad_norm_(4 gradients) at {limit:.6g} returned 10"
    return trace(
        probe(
            "loud",
            *(update(i, true=n, clip_calls=(said,), **fields) for i, n in enumerate(norms(10))),
        )
    )


def test_a_plain_loop_is_judged_by_what_every_update_shows():
    """Nothing of ranks, scalers or clips is asked of a loop that has none."""
    found = levels(
        trace(probe("plain", update(0, coefficients=(1.0,)), update(1, coefficients=(1.0,))))
    )

    assert found["finite-loss"] == "required"
    assert found["gradients-start-fresh"] == "guard"
    assert found["no-batch-lost"] == "advisory"
    absent = {"ranks-agree", "scaler-protocol", "clip-before-step", "scheduler-per-update"}
    assert absent.isdisjoint(found)


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        (trace(probe("plain", update(0), update(1))), "accumulation-equals-large-batch"),
        (clipping(1.0, consumed=1.0), "clip-before-step"),
        (trace(probe("ranks", ranks=[rank([update(0)]), rank([update(0)], 1)])), "ranks-agree"),
        (trace(probe("amp", ranks=[rank([update(0)], scaler=(call("scale"),))])), "unscaled-norm"),
        (
            trace(probe("plain", update(0, scheduler_steps=1), update(1, scheduler_steps=1))),
            "scheduler-per-update",
        ),
    ],
)
def test_a_precondition_in_the_trace_makes_a_property_judge(seen, name):
    """Whatever the question was about."""
    assert levels(seen)[name] == "guard"


def test_a_fault_beside_the_topic_makes_code_wrong():
    """An answer about something else that divides nothing by the number of its micro-batches."""
    undivided = trace(
        probe("plain", *(update(i, true=n, consumed=4 * n) for i, n in enumerate((1, 2, 3))))
    )

    found = judge_by(undivided, ABOUT, SILENT)

    assert code_of(found) == "wrong"
    assert [v.property for v in found if v.outcome == "fail"] == ["accumulation-equals-large-batch"]


def test_what_a_scenario_allows_is_shown_with_its_reason_and_flips_nothing():
    """A deliberate exception."""
    undivided = trace(
        probe("plain", *(update(i, true=n, consumed=4 * n) for i, n in enumerate((1, 2, 3))))
    )
    allowed = PropertyRule(
        id="accumulation-equals-large-batch", level="allowed", reason="The rate makes up for it."
    )

    found = judge_by(undivided, (*ABOUT, allowed), SILENT)

    (shown,) = (v for v in found if v.property == allowed.id)
    assert (shown.outcome, shown.level, shown.allowed) == ("fail", "advisory", allowed.reason)
    assert code_of(found) == "right"


def test_a_loop_is_judged_by_its_own_threshold_where_none_was_asked_for():
    """Clipped to 0.25 under a threshold of 0.25 is right, and under one of 1 it is not."""
    kept, divided = clipping(0.25, consumed=0.25), clipping(1.0, consumed=0.25)

    def failing(seen):
        return {v.property for v in judge_by(seen, ABOUT, SILENT) if v.outcome == "fail"}

    assert "clip-global-norm" not in failing(kept)
    assert "clip-global-norm" in failing(divided)


def test_a_clip_at_infinity_is_a_measurement_and_no_threshold():
    """Trainers take the norm that way."""
    seen = settings_of(clipping(math.inf), SILENT)

    assert not seen.clips
    assert seen.threshold is None
    assert "clip-before-step" not in levels(clipping(math.inf))


def test_what_most_windows_arrive_with_is_a_threshold_without_any_call():
    """A clip by hand."""
    assert own_threshold(quiet_and_loud(), SILENT) == pytest.approx(1.0)


def test_the_norm_of_windows_whose_every_element_is_at_its_limit_is_no_threshold():
    """Clipped by value, and so loud that each window arrives with one and the same norm."""
    said = ("clip_grad_value_(4 gradients) at 0.5 returned None",)
    loud = (update(i, true=n, consumed=1.0, clip_calls=said) for i, n in enumerate(norms(10.0)))

    assert own_threshold(trace(probe("loud", *loud)), SILENT) is None


def test_a_norm_to_which_small_gradients_are_blown_up_is_a_threshold():
    """A factor of limit over norm that is never held at 1."""
    blown_up = (
        update(i, true=n, consumed=1.0) for i, n in enumerate((0.2, 0.4, 0.7, 0.3, 2.0, 0.5))
    )
    whole = (update(i, true=n) for i, n in enumerate((0.2, 0.4, 0.7, 0.3, 2.0, 0.5)))

    assert own_threshold(trace(probe("plain", *blown_up)), SILENT) == pytest.approx(1.0)
    assert own_threshold(trace(probe("plain", *whole)), SILENT) is None


def test_the_threshold_of_a_part_is_none_for_the_whole():
    """Two calls for one of four parameters each."""
    said = tuple(f"clip_grad_norm_(1 gradients) at {limit} returned 5" for limit in (1, 2))
    seen = settings_of(trace(probe("loud", update(0, clip_calls=said, gradients=4))), SILENT)

    assert seen.clips
    assert seen.threshold is None


def test_how_micro_batches_are_weighed_is_a_choice_where_nobody_asked_to_gather_them():
    """Both means are right in an answer about something else; a sum is not."""
    asked = Expectations(objectives=("sample-mean",))
    other = [
        match("sample-mean", true=2.0, consumed=2.0, turned=0.1),
        match("micro-batch-mean", true=2.0),
    ]
    seen = trace(probe("plain", *(update(i, true=2.0 + i, matches=other) for i in range(3))))

    assert code_of(judge_by(seen, ABOUT, asked)) == "right"


LEFT_TO_THE_ANSWER = Expectations(max_norm_between=(0.5, 5.0), own_max_norm=True, loss_falls_to=0.9)
"""A clip is asked for, and no number stated."""

CLIPS = tuple(PropertyRule(id=f"clip-{name}") for name in ("before-step", "global-norm"))


@pytest.mark.parametrize("limit", [0.1, 0.25, 0.5, 2.0, 5.0, 10.0])
def test_an_ordinary_threshold_of_the_answers_own_is_right_where_none_was_stated(limit):
    """From 0.1 to 10, whatever range the scenario has in mind."""
    said = f"clip_grad_norm_(4 gradients) at {limit:.6g} returned 10"
    loud = [
        update(i, true=n, consumed=limit, clip_calls=(said,), gradients=4)
        for i, n in enumerate(norms(30 * limit))
    ]
    assert code_of(judge_by(trace(probe("loud", *loud)), CLIPS, LEFT_TO_THE_ANSWER)) == "right"


def test_a_threshold_that_nobody_chooses_is_wrong_all_the_same():
    """0.01 is a step size."""
    said = "clip_grad_norm_(4 gradients) at 0.01 returned 10"
    loud = [
        update(i, true=n, consumed=0.01, clip_calls=(said,), gradients=4)
        for i, n in enumerate(norms(30))
    ]
    assert code_of(judge_by(trace(probe("loud", *loud)), CLIPS, LEFT_TO_THE_ANSWER)) == "wrong"


def test_windows_just_below_the_threshold_show_that_a_clip_leaves_them_alone():
    """Where none lies far below it."""
    said = "clip_grad_norm_(4 gradients) at 0.25 returned 10"
    sizes = [(0.12, None), (0.2, None), (5.0, 0.25), (7.0, 0.25), (9.0, 0.25)]
    seen = [
        update(i, true=n, consumed=c, clip_calls=(said,), gradients=4)
        for i, (n, c) in enumerate(sizes)
    ]
    rule = PropertyRule(id="clip-inactive-when-small")
    assert code_of(judge_by(trace(probe("both", *seen)), (rule,), LEFT_TO_THE_ANSWER)) == "right"


def test_no_clip_is_wrong_only_where_one_was_asked_for():
    """A loop that leaves large gradients as they are."""
    whole = trace(probe("loud", *(update(i, true=n) for i, n in enumerate(norms(50)))))

    assert code_of(judge_by(whole, ABOUT, SILENT)) == "right"
    assert code_of(judge_by(whole, ABOUT, LEFT_TO_THE_ANSWER)) == "wrong"
