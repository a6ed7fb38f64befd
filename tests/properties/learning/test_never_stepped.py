"""Training without a step: what tells it from a trial, and from code that others call."""

import pytest

from harness.domain.branch import Unentered
from harness.properties import PROPERTIES, judge_one
from tests.fakes.traces import backward, expect, probe, program, rank, trace, update
from tests.properties.verdicts import on

ID = "every-parameter-learns"

CLOSURE = Unentered(first=8, last=15, touches=("backward", "zero_grad"), uncalled=True)


def returned(*, by_hand=False):
    """A call of ``torch.autograd.grad``."""
    return backward().model_copy(update={"returned": True, "put_by_hand": by_hand})


def ran(backwards, batches, *, unused=0, **fields):
    """A program that ended without an update."""
    seen = rank([], backwards=tuple(backwards), batches_yielded=batches, unused_forwards=unused)
    return trace(probe("quiet", ranks=[seen], **fields))


def test_one_backward_over_a_whole_window_counts_every_batch_of_it():
    """Four backwards over fourteen batches are no trial of four batches."""
    verdict = on(ID, ran([backward()] * 4, 14, unused=14))
    assert verdict.outcome == "fail"
    assert "backward ran 4 times over 14 batches and nothing was ever updated" in verdict.sentence
    assert on(ID, ran([backward()] * 4, 14, unused=4)).outcome == "inconclusive"


def test_gradients_that_are_put_into_place_by_hand_are_meant_for_a_step():
    """What ``torch.autograd.grad`` returns may be anything; what lies in ``.grad`` is not."""
    half = [returned()] * 4 + [returned(by_hand=True)] * 6
    assert on(ID, ran(half, 10, unused=10)).outcome == "fail"
    assert on(ID, ran([returned()] * 10, 10, unused=10)).outcome == "inconclusive"


def test_one_measured_batch_does_not_make_training_of_gradients_that_are_returned():
    """A copy may be trained by hand after a look at one norm."""
    seen = [backward(), *[returned()] * 10]
    assert on(ID, ran(seen, 11, unused=11)).outcome == "inconclusive"


def test_a_closure_that_nothing_calls_is_a_step_that_is_missing():
    """It stands in the loop, with its backward, and no optimizer gets it."""
    verdict = on(ID, ran([], 10, program=program(unentered=(CLOSURE,))))
    assert verdict.outcome == "fail"
    assert "the function in lines 8-15 runs backward, and nothing calls it" in verdict.sentence


@pytest.mark.parametrize(
    "seen",
    [
        trace(probe("quiet", update(0), update(1), program=program(unentered=(CLOSURE,)))),
        ran([], 0, program=program(unentered=(CLOSURE,))),
        ran([], 10, program=program(unentered=(CLOSURE,), outcome="raised")),
        ran([], 10, program=program(unentered=(CLOSURE.model_copy(update={"uncalled": False}),))),
        ran([], 10, learning=None, program=program(unentered=(CLOSURE,))),
    ],
)
def test_a_closure_left_over_beside_updates_or_before_a_crash_convicts_nobody(seen):
    """Nor does one that only a branch kept out."""
    assert on(ID, seen).outcome != "fail"


def test_one_network_of_two_whose_closure_nothing_calls_is_told():
    """The other one is trained, and would be right alone."""
    trained = [update(i, trains="maker") for i in range(3)]
    parts = ("judge", "maker")

    def both(**fields):
        seen = trace(probe("loud", *trained, parts=parts, **fields))
        return judge_one(PROPERTIES[ID], seen, expect())

    told = both(program=program(unentered=(CLOSURE,)))
    assert told.outcome == "fail"
    assert "one of the networks was never updated" in told.sentence
    assert both().outcome == "inconclusive"
    assert both(program=program("raised", unentered=(CLOSURE,))).outcome == "inconclusive"
