from tests.fakes.traces import match, parameter, probe, trace, update
from tests.properties.verdicts import on

ID = "clip-per-group"
GROUPS = {
    "backbone": {"prefix": "backbone", "keeps_at_least": 0.9},
}


def both(backbone, head):
    parts = [parameter("backbone.0.weight", 0.05, backbone), parameter("head.weight", 10.0, head)]
    one = match(true=10.0, consumed=head, turned=0.1, parameters=parts)
    return trace(probe("loud", update(0, true=10.0, consumed=head, matches=[one])))


def test_a_whole_backbone_beside_a_loud_head_passes():
    """With both figures."""
    verdict = on(ID, both(0.05, 1.0), groups=GROUPS)
    assert verdict.outcome == "pass"
    assert "backbone kept at least 1" in verdict.sentence


def test_a_starved_backbone_fails():
    """One factor for both leaves a tenth of it."""
    verdict = on(ID, both(0.005, 1.0), groups=GROUPS)
    assert verdict.outcome == "fail"
    assert "only 0.1 of backbone" in verdict.sentence


def test_what_a_bound_of_its_own_takes_is_no_starving():
    """The backbone is clipped to its own bound where it is loud, and whole where it is not."""
    own = {"backbone": {"prefix": "backbone", "keeps_at_least": 0.9, "bounded_by": 0.03}}
    verdict = on(ID, in_turn([0.02, 0.03, 0.03], [5.0, 5.0, 5.0]), groups=own)
    assert verdict.outcome == "pass"
    assert "backbone kept at least 1 of" in verdict.sentence


def test_parts_of_equal_size_put_nothing_to_the_test():
    """Nothing could have starved it."""
    quiet = [parameter("backbone.0.weight", 0.05, 0.05), parameter("head.weight", 0.05, 0.05)]
    one = match(true=0.07, consumed=0.07, parameters=quiet)
    seen = trace(probe("calm", update(0, true=0.07, consumed=0.07, matches=[one])))
    assert on(ID, seen, groups=GROUPS).outcome == "inconclusive"


def test_without_groups_it_is_inconclusive():
    """The scenario names none."""
    assert on(ID, both(0.05, 1.0)).outcome == "inconclusive"


def in_turn(backbones, heads, **fields):
    """Windows with a backbone of 0.02, 0.03, 0.04, ... and a head of 8, 9, 10, ... as they arrived."""
    seen = []
    for i, (backbone, head) in enumerate(zip(backbones, heads, strict=True)):
        parts = [
            parameter("backbone.0.weight", 0.02 + 0.01 * i, backbone),
            parameter("head.weight", 8.0 + i, head),
        ]
        one = match(true=8.0 + i, consumed=head, turned=0.1, parameters=parts)
        seen.append(update(i, true=8.0 + i, consumed=head, matches=[one], **calls(fields, i)))
    return trace(probe("loud", *seen))


def calls(fields, i):
    return {k: v[i] if k == "clip_calls" else v for k, v in fields.items()}


def test_a_backbone_that_is_blown_up_to_a_threshold_fails():
    """Divided by its own norm without an upper limit of 1."""
    verdict = on(ID, in_turn([0.5, 0.5, 0.5], [5.0, 5.0, 5.0]), groups=GROUPS)
    assert verdict.outcome == "fail"
    assert "normalised, not clipped" in verdict.sentence


FULL = ("clip_grad_norm_(4 gradients) returned 0.02", "clip_grad_norm_(2 gradients) returned 8")
EMPTY = ("clip_grad_norm_(0 gradients) returned 0", "clip_grad_norm_(0 gradients) returned 0")


def test_an_iterator_that_is_used_up_after_the_first_step_fails():
    """What clipped once clips no more."""
    seen = in_turn([0.02, 0.03, 0.04], [5.0, 9.0, 10.0], clip_calls=[FULL, EMPTY, EMPTY])
    verdict = on(ID, seen, groups=GROUPS)
    assert verdict.outcome == "fail"
    assert "update 1 a clip was called with 0 gradients" in verdict.sentence


def test_a_clip_of_modules_without_parameters_of_their_own_is_no_used_up_iterator():
    """A loop over all modules meets containers."""
    each = ("clip_grad_norm_(0 gradients) returned 0", *FULL)
    seen = in_turn([0.02, 0.03, 0.04], [5.0, 5.0, 5.0], clip_calls=[each] * 3)
    assert on(ID, seen, groups=GROUPS).outcome == "pass"


def test_a_clip_that_never_had_a_gradient_fails():
    """An optimizer used the iterator up before."""
    seen = in_turn([0.02, 0.03, 0.04], [8.0, 9.0, 10.0], clip_calls=[EMPTY] * 3)
    assert on(ID, seen, groups=GROUPS).outcome == "fail"


def test_the_loop_as_it_was_is_not_told():
    """A clip of a copy looks the same."""
    assert on(ID, in_turn([0.02, 0.03], [8.0, 9.0]), groups=GROUPS).outcome == "inconclusive"


def test_a_roomy_threshold_over_both_passes():
    """It was called, and only spikes reach it."""
    roomy = ("clip_grad_norm_(6 gradients) returned 8",)
    seen = in_turn([0.02, 0.03], [8.0, 9.0], clip_calls=[roomy] * 2)
    assert on(ID, seen, groups=GROUPS).outcome == "pass"


def test_thresholds_that_went_to_the_wrong_groups_fail():
    """The loud head has the small one, and the quiet backbone one that it never comes near."""

    def clipped(backbone, head):
        calls = [
            (
                f"clip_grad_norm_(4 gradients) at {backbone} returned {0.02 + 0.01 * i}",
                f"clip_grad_norm_(2 gradients) at {head} returned {8.0 + i}",
            )
            for i in range(3)
        ]
        return in_turn([0.02, 0.03, 0.04], [min(head, 8.0 + i) for i in range(3)], clip_calls=calls)

    whole = {"backbone": {"prefix": "backbone"}, "head": {"prefix": "head", "bounded_by": 7.5}}
    whole["backbone"]["keeps_at_least"] = 0.5
    verdict = on(ID, clipped(7, 0.5), groups=whole)

    assert verdict.outcome == "fail"
    assert "the thresholds were given to the wrong groups" in verdict.sentence
    assert on(ID, clipped(0.5, 7), groups=whole).outcome == "pass"
    assert on(ID, clipped(1, 1), groups=whole).outcome == "pass"


def test_a_clip_for_each_group_that_is_given_the_quiet_one_each_time_fails():
    """Functions that a loop makes share its variable, thresholds in turn; one clip alone is a choice."""
    bounded = {"head": {"prefix": "head", "bounded_by": 7.5}, **GROUPS}

    def clipped(*calls, heads=(8.0, 9.0, 10.0)):
        made = [
            tuple(
                f"clip_grad_norm_(4 gradients) at {at} returned {0.02 + 0.01 * i}" for at in calls
            )
            for i in range(3)
        ]
        return on(ID, in_turn([0.02, 0.03, 0.04], heads, clip_calls=made), groups=bounded)

    twice = clipped(0.5, 0.5)
    assert twice.outcome == "fail"
    assert "backbone was clipped 2 times at the same threshold and head never" in twice.sentence
    apart = clipped(0.5, 20)
    assert "backbone was clipped 2 times at thresholds 0.5 and 20 and head never" in apart.sentence
    assert clipped(0.5).outcome == "pass"
    assert clipped(0.5, "inf").outcome == "pass"
    assert clipped(0.5, 0.5, 0.5).outcome == "pass"
    assert clipped(0.5, 0.5, heads=(5.0, 5.0, 5.0)).outcome == "pass"
