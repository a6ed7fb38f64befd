import math

import pytest

from tests.fakes.traces import backward, learning, match, micro_batch, probe, rank, trace, update
from tests.properties.verdicts import on

ID = "one-update-per-window"


def sized(index, size, **fields):
    return update(index, coefficients=(1.0,) * size, **fields)


def test_a_steady_rhythm_passes():
    """The short last window is no exception."""
    seen = trace(probe("plain", sized(0, 4), sized(1, 4), sized(2, 2, short=True)))
    assert on(ID, seen).outcome == "pass"


def test_an_update_after_the_first_micro_batch_fails():
    """i % 4 == 0 is true at 0."""
    verdict = on(ID, trace(probe("plain", sized(0, 1), sized(1, 4), sized(2, 4))))
    assert verdict.outcome == "fail"
    assert "after 1 micro-batch; the windows hold, in order: 1, 4" in verdict.sentence


def test_single_micro_batches_fail_where_gathering_was_meant():
    """And pass where it was not."""
    seen = trace(probe("plain", sized(0, 1), sized(1, 1)))
    assert on(ID, seen).outcome == "fail"
    assert on(ID, seen, accumulates=False).outcome == "pass"


def test_the_same_gradient_stepped_twice_fails():
    """An update without a new micro-batch and with the old one."""
    again = update(1, coefficients=(), stale=(1.0,) * 4, matches=())
    verdict = on(ID, trace(probe("plain", sized(0, 4), again, sized(2, 4))))
    assert verdict.outcome == "fail"
    assert "a second time" in verdict.sentence


def test_the_same_norm_again_without_a_micro_batch_fails_where_nothing_can_be_separated():
    """Noise or centralisation leave no coefficients, but a second step has the first one's norm."""
    again = update(1, consumed=3.0, coefficients=(), matches=(), unexplained=None)
    assert on(ID, trace(probe("plain", update(0), again))).outcome == "fail"


def again_on(gradients, **fields):
    """Two windows with a step between them that has no micro-batch and a gradient of norm 0."""
    nothing = {"coefficients": (), "matches": (), "consumed_norm": 0.0, "gradients": gradients}
    made = sized(0, 4), update(1, moved=0.0, **nothing), sized(2, 4)
    return trace(probe("plain", *made, **fields))


def test_a_step_on_zeros_is_nothing_where_the_program_chose_plain_descent():
    """Nor is the first step of all one that comes again, nor does a network take another's turn."""
    assert on(ID, again_on(4, learning=learning(own_optimizer=True))).outcome == "pass"
    assert on(ID, again_on(4, parts=("judge", "maker"))).outcome == "pass"
    first = update(0, coefficients=(), matches=(), consumed_norm=0.0, gradients=4)
    assert on(ID, trace(probe("plain", first, sized(1, 4), sized(2, 4)))).outcome == "pass"


def test_a_tail_carried_over_is_not_its_business():
    """A larger window in which the data starts again."""
    carried = sized(2, 6)
    samples = [(60,), (70,), (0,), (10,), (20,), (30,)]
    window = tuple(
        m.model_copy(update={"samples": s})
        for m, s in zip(carried.micro_batches, samples, strict=True)
    )
    seen = probe(
        "plain", sized(0, 4), sized(1, 4), carried.model_copy(update={"micro_batches": window})
    )
    assert on(ID, trace(seen)).outcome == "pass"


def test_one_window_is_inconclusive():
    """One beat is no rhythm."""
    assert on(ID, trace(probe("plain", sized(0, 4)))).outcome == "inconclusive"


def test_a_step_after_each_step_fails_although_it_is_as_frequent_as_the_windows():
    """An update without a micro-batch is never the usual window."""
    again = {"coefficients": (), "stale": (1.0,) * 4, "matches": ()}
    seen = [u for i in (0, 2) for u in (sized(i, 4), update(i + 1, **again))]
    verdict = on(ID, trace(probe("plain", *seen, update(4, **again))))
    assert verdict.outcome == "fail"
    assert "a second time" in verdict.sentence


def fed(*windows, **fields):
    """Updates from these batches; a batch is ``(its number, the number handed out last)``."""
    made = []
    for index, batches in enumerate(windows):
        own = [
            micro_batch(9 * index + i, samples=(2 * b, 2 * b + 1), after_batch=(0, last))
            for i, (b, last) in enumerate(batches)
        ]
        made.append(sized(index, len(own), **fields).model_copy(update={"micro_batches": own}))
    last = made[-1]
    made[-1] = last.model_copy(update={"short": last.window_size < made[0].window_size})
    return trace(probe("plain", *made))


def at_end(batches, last):
    return [(b, last) for b in batches]


def test_a_buffer_that_still_holds_the_window_before_fails():
    """``deque(maxlen=4)`` at the end of ten batches."""
    verdict = on(ID, fed(at_end(range(4), 3), at_end(range(4, 8), 7), at_end(range(6, 10), 9)))

    assert verdict.outcome == "fail"
    assert "update 2, 2 micro-batches had reached the optimizer" in verdict.sentence
    assert on(ID, fed(*(at_end(range(s, s + 4), s + 3) for s in (0, 4)))).outcome == "pass"


def test_each_batch_for_two_updates_fails_and_one_batch_over_and_over_does_not():
    """Repeating one batch is an experiment; so is undoing an update, to do it again."""
    twice = fed(*([(b, b)] for b in range(4) for _ in range(2)))
    alone = fed(*([(0, 0)] for _ in range(6)))
    undone = fed(*([(b, b)] for b in range(4) for _ in range(2)), overwritten=1.0)

    assert on(ID, twice, accumulates=False).outcome == "fail"
    assert on(ID, alone, accumulates=False).outcome == "pass"
    assert on(ID, undone, accumulates=False).outcome != "fail"


def test_a_list_of_batches_may_be_gone_through_again():
    """Three batches in windows of two: nothing is read any more, and so nothing tells a pass."""
    seen = fed(*(at_end(w, 9) for w in ([0, 1], [2, 0], [1, 2], [0, 1])))

    assert on(ID, seen).outcome == "pass"


def test_windows_of_any_size_are_lawful_where_none_were_meant():
    """A batch that was left out because its norm was too large leaves a larger window."""
    seen = trace(probe("plain", sized(0, 1), sized(1, 2), sized(2, 1)))

    assert on(ID, seen, accumulates=False).outcome == "pass"


def weighed(index, size, by):
    """A window of its own size whose micro-batches were each divided by a number."""
    true, ratio = 0.4, size / by
    made = sized(index, size)
    own = [m.model_copy(update={"weight": 1 / by}) for m in made.micro_batches]
    seen = update(index, true=true, consumed=ratio * true, coefficients=(1.0,) * size)
    return seen.model_copy(update={"micro_batches": tuple(own)})


@pytest.mark.parametrize("sizes", [(4, 6), (4, 4, 6), (4, 3, 3), (5, 4, 5)])
def test_windows_of_other_sizes_pass_where_each_is_its_own_mean(sizes):
    """The last takes the rest, or all are made alike; a divisor for all of them is a fault."""
    own = trace(probe("quiet", *(weighed(i, n, n) for i, n in enumerate(sizes))))
    fixed = trace(probe("quiet", *(weighed(i, n, 4) for i, n in enumerate(sizes))))

    assert on(ID, own).outcome == "pass"
    assert on(ID, fixed).outcome == "fail"


def test_a_first_window_of_one_micro_batch_fails_whatever_it_is_divided_by():
    """It is a counter that begins at 0, and no way to share out the batches."""
    assert (
        on(ID, trace(probe("quiet", *(weighed(i, n, n) for i, n in enumerate((1, 4, 4)))))).outcome
        == "fail"
    )


def test_a_batch_that_is_twice_in_one_window_fails():
    """From an iterator made anew each time, or repeated to fill the last window; what a first backward
    left and was cleared does not count, and one batch alone is an experiment.
    """

    def gathered(*batches, kept=True, passes=(0, 0, 0, 0)):
        own = [
            micro_batch(i, samples=(2 * b, 2 * b + 1), after_batch=(p, b))
            for i, (b, p) in enumerate(zip(batches, passes, strict=True))
        ]
        found = [match("as-computed", turned=0.0 if kept else 0.4)]
        window = sized(1, 4, matches=found).model_copy(update={"micro_batches": own})
        return on(ID, trace(probe("plain", sized(0, 4), window, sized(2, 4)))).outcome

    assert gathered(0, 0, 0, 0, passes=(0, 1, 2, 3)) == "fail"
    assert gathered(8, 9, 10, 10) == "fail"
    assert gathered(8, 9, 10, 11) == "pass"
    assert gathered(8, 9, 10, 10, kept=False) == "pass"
    assert gathered(0, 0, 0, 0) == "pass"


def test_windows_that_hold_one_batch_several_times_fail_where_gathering_was_meant():
    """Whatever is clipped after each of its backwards does not show; other batches would show it. One
    batch for the whole of the training is lawful.
    """
    seen = fed(*([(b, b)] * 4 for b in range(3)))
    assert "a single micro-batch, time and again" in on(ID, seen).sentence
    assert on(ID, seen, accumulates=False).outcome == "pass"
    assert on(ID, fed(*([(0, 0)] * 4 for _ in range(3)))).outcome == "pass"


def test_a_second_step_on_what_a_hook_has_made_infinite_fails():
    """The hook divides by a count that is 0 by then; neither norm nor parts equal those of before."""
    again = update(
        1,
        coefficients=(),
        matches=(),
        consumed_norm=math.inf,
        consumed_finite=False,
        unexplained=None,
    )
    found = trace(probe("plain", sized(0, 4), again, sized(2, 4)))
    assert on(ID, found).outcome == "fail"
    assert (
        "the last gradient (norm inf, not finite by then) a second time" in on(ID, found).sentence
    )

    known = rank(found.probes[0].updates, backwards=[backward(after=1)])
    assert "a second time" not in on(ID, trace(probe("plain", ranks=[known]))).sentence


def cut_off(sizes, calls):
    """Windows of these sizes, each with as many calls of backward, of which the last ones arrived."""
    updates = [sized(i, size) for i, size in enumerate(sizes)]
    backwards = [
        backward(after=i, in_vain=k < calls - size)
        for i, size in enumerate(sizes)
        for k in range(calls)
    ]
    return trace(probe("plain", ranks=[rank(updates, backwards=backwards)]))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 4, 4)], ids=["each window", "the first window"])
def test_windows_that_are_small_because_losses_are_cut_off_are_told_as_that(sizes):
    """Backward ran for each micro-batch, and only the last one of a window reached the model."""
    said = on(ID, cut_off(sizes, 4)).sentence
    assert "Of the 4 calls of backward before plain, update 0, 3 reached no parameter" in said
    assert "cut off from the model" in said
    assert "count from 1" not in said
    assert "step when it is full" not in said
