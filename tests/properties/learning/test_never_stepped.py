"""Training without a step: what tells it from a trial, and from code that others call."""

from tests.fakes.traces import backward, probe, rank, trace
from tests.properties.verdicts import on

ID = "every-parameter-learns"


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
