"""Networks that are trained against each other, judged one by one."""

import math
from itertools import chain

from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.properties import PROPERTIES, judge_one
from tests.fakes.traces import expect, learning, norms, probe, trace, update

THRESHOLD = 5.0


def played(part: str, first: int, **fields) -> list:
    """Four clipped updates of one part, every other one of the probe."""
    given = {"consumed": THRESHOLD, "coefficients": (1.0,), **fields}
    sizes = [{"true": n, **given} for n in norms(50)]
    return [update(first + 2 * i, trains=part, **size) for i, size in enumerate(sizes)]


def game(*parts: list) -> Trace:
    """One loud probe in which the parts take turns."""
    return trace(probe("loud", *sorted(chain(*parts), key=lambda u: u.index)))


def judged(name: str, seen: Trace) -> Verdict:
    """One property's verdict, any threshold from 0.5 to 10 allowed."""
    accepted = expect(max_norm=None, max_norm_between=(0.5, 10.0), objectives=("as-computed",))
    return judge_one(PROPERTIES[name], seen, accepted)


def raw(part: str, first: int, **fields) -> list:
    """Four updates of one part that nothing clipped."""
    return played(part, first, consumed=None, **fields)


def test_both_parts_of_a_game_have_to_be_right():
    """The one that is not is the one that is told."""
    right = judged("clip-before-step", game(played("judge", 0), played("maker", 1)))
    wrong = judged("clip-before-step", game(raw("judge", 0), played("maker", 1)))

    assert right.outcome == "pass"
    assert wrong.outcome == "fail"
    assert "(judge)" in wrong.sentence


def test_each_part_has_a_threshold_of_its_own():
    """What lies below one network's threshold is clipped by the other's, and rightly so."""
    maker = [
        update(2 * i + 1, true=n, consumed=1.0, trains="maker", coefficients=(1.0,))
        for i, n in enumerate(norms(2.1, 3))
    ]
    calm = [
        update(i, true=0.1, trains=part, coefficients=(1.0,))
        for i, part in enumerate(("judge", "maker") * 2)
    ]
    loud = game(played("judge", 0, consumed=9.0), maker).probes[0]

    found = judged("clip-inactive-when-small", trace(loud, probe("quiet", *calm)))

    assert found.outcome == "pass"


def test_one_part_that_cannot_be_told_leaves_the_whole_open():
    """A generator whose gradients are small says nothing about its clip."""
    calm = [update(2 * i + 1, true=0.1, trains="maker", coefficients=(1.0,)) for i in range(4)]

    assert judged("clip-before-step", game(played("judge", 0), calm)).outcome == "inconclusive"


def test_a_network_that_is_never_shown_leaves_the_whole_open():
    """Half of a loop, however right it is, trains half of what it is asked to."""
    half = trace(probe("loud", *played("judge", 0), parts=("judge", "maker")))

    assert judged("clip-before-step", half).outcome == "inconclusive"


def test_windows_of_different_size_are_compared_within_a_part_only():
    """A discriminator sees real and fake, a generator one batch: neither is a short window."""
    seen = game(played("judge", 0, coefficients=(1.0, 1.0)), raw("maker", 1))

    assert judged("clip-before-step", seen).outcome == "fail"


def test_what_the_other_networks_loss_left_is_no_fresh_start():
    """The sentence says whose loss it was."""
    left = played("judge", 0, turned=0.8, stale=(1.0,))

    found = judged("gradients-start-fresh", game(left, played("maker", 1)))

    assert found.outcome == "fail"
    assert "the other network's loss" in found.sentence


def test_a_gradient_consumed_again_is_found_although_the_other_part_stepped_between():
    """Numbers of updates have gaps where a part looks at its own."""
    first, second = played("judge", 0)[:2]
    again = second.model_copy(update={"window_size": 0, "micro_batches": ()})

    found = judged("one-update-per-window", game([first, again], played("maker", 1)))

    assert found.outcome == "fail"
    assert "a second time" in found.sentence


def test_a_clip_that_is_handed_both_networks_gradients_is_told_by_the_norm_that_it_returned():
    """What the small one adds does not show in what is left of the large one's gradient."""

    def handed(gradients: int, returned: float) -> Verdict:
        calls = (f"clip_grad_norm_({gradients} gradients) at 5 returned {returned}",)
        loud = [
            u.model_copy(update={"beside": 0.1, "clip_calls": calls})
            for u in played("judge", 0, true=60.0)
        ]
        return judged("clip-global-norm", game(loud, played("maker", 1)))

    both = handed(4, math.hypot(60.0, 0.1))

    assert both.outcome == "fail"
    assert "was handed 4 gradients, and the judge has 2" in both.sentence
    assert handed(4, 60.0).outcome == "pass"
    assert handed(2, math.hypot(60.0, 0.1)).outcome == "pass"


def test_a_clip_that_was_given_nothing_is_found_beside_that_of_the_other_network():
    """Both clips come before both steps; each is known by the norm that it returned."""
    empty, other = (
        "clip_grad_norm_(0 gradients) at 5 returned 0.0",
        "clip_grad_norm_(4 gradients) at 5",
    )
    seen = game(
        raw("judge", 0, clip_calls=(empty, f"{other} returned 999.0")),
        played("maker", 1, clip_calls=(empty, f"{other} returned 999.0")),
    )
    assert "clipping was called with 0 gradients" in judged("clip-global-norm", seen).sentence

    own = [
        u.model_copy(update={"clip_calls": (empty, f"{other} returned {u.consumed_norm}")})
        for u in raw("judge", 0)
    ]
    found = judged("clip-global-norm", game(own, played("maker", 1)))
    assert "0 gradients" not in found.sentence


def test_gradients_are_not_said_to_be_stale_where_the_other_network_never_moves():
    """Whose they were cannot be told then, and that its step is missing is told by another property."""
    moved = {"judge.net.weight": 0.3, "maker.net.weight": 0.0}
    alone = game(played("judge", 0, turned=0.8, stale=(1.0,))).probes[0]
    rests = alone.model_copy(
        update={"parts": ("judge", "maker"), "learning": learning(moved=moved)}
    )
    both = rests.model_copy(update={"learning": learning(moved=dict.fromkeys(moved, 0.3))})

    assert judged("gradients-start-fresh", trace(rests)).outcome == "inconclusive"
    assert judged("gradients-start-fresh", trace(both)).outcome == "fail"
    assert "never steps" in judged("every-parameter-learns", trace(rests)).sentence
