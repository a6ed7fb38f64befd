"""Whether what runs between two reads of a clock is the training itself."""

import pytest

from harness.properties.evidence.timed_training import is_timed_training
from tests.fakes.traces import backward, probe, rank, segment, trace, update
from tests.properties.verdicts import on

CLIP = ("clip_grad_norm_(4 gradients, max_norm=1.0) returned 30.0",)
ALL = range(14)


def one(index, *, clipped, batch=None):
    """An update on one batch; an update that is not clipped is loud."""
    made = update(index, true=30.0, consumed=1.0 if clipped else 30.0, timed=True)
    own = made.micro_batches[0].model_copy(
        update={"after_batch": (0, index) if batch is None else batch}
    )
    fields = {"micro_batches": (own,), "clip_calls": CLIP if clipped else (), "window_size": 1}
    return made.model_copy(update=fields)


def quiet(index, *, calls=(), consumed=30.0):
    """An update on a batch of its own, with or without a call, shrunk or not."""
    made = one(index, clipped=False)
    shrunk = [m.model_copy(update={"consumed_norm": consumed}) for m in made.matches]
    return made.model_copy(update={"clip_calls": calls, "matches": tuple(shrunk)})


def staged(clipped):
    """Segments of a loop with a part of its own for the clip."""
    parts = ((segment(1, 1), segment(clips=int(i in clipped)), segment(steps=1)) for i in ALL)
    return [s for part in parts for s in part]


def loop(clipped, segments=(), batches=None):
    made = [one(i, clipped=i in clipped, batch=batches and batches(i)) for i in ALL]
    seen = rank(made, backwards=tuple(backward() for _ in ALL))
    return probe("small", ranks=[seen], segments=segments)


@pytest.mark.parametrize("clipped", [{9}, {0, 10}, {0, 5, 10}, {2, 3, 11}, {0}])
def test_one_loop_with_a_clip_here_and_there_is_the_training(clipped):
    """Every tenth step, every fifth, by chance, where a log is written."""
    assert is_timed_training(loop(clipped))


@pytest.mark.parametrize(
    "clipped", [{*ALL}, {0, 2, 4, 6, 8, 10, 12}, {*range(7)}, {0, 1, 2}, set()]
)
def test_clipped_throughout_in_turn_or_in_a_row_it_is_a_variant_or_sound(clipped):
    """A side of a comparison has steps in a row, or as many as the other side."""
    assert not is_timed_training(loop(clipped))


def test_a_clip_is_one_that_was_called_and_what_shrinks_a_gradient_without_a_call():
    """A roomy clip shrinks nothing, and one that is written by hand has no name."""
    called = probe("small", *(quiet(i, calls=CLIP if i == 9 else ()) for i in ALL))
    by_hand = probe("small", *(quiet(i, consumed=1.0 if i == 9 else 30.0) for i in ALL))

    assert is_timed_training(called)
    assert is_timed_training(by_hand)


def test_several_ranks_are_no_loop_that_can_be_told():
    ranks = [rank([one(i, clipped=i == 9) for i in ALL], number=n) for n in range(2)]

    assert not is_timed_training(probe("small", ranks=ranks))


def test_steps_on_one_batch_again_and_again_are_no_training():
    """Only variants repeat a batch."""
    assert not is_timed_training(loop({9}, batches=lambda _: (0, 0)))


def test_updates_of_such_a_loop_are_held_against_their_true_gradients():
    """All else that is timed is left out of what guards see."""
    few, all_of_them = loop({0, 10}, staged({0, 10})), loop({*ALL}, staged({*ALL}))

    assert on("clip-global-norm", trace(few), measures=True).outcome == "fail"
    assert on("clip-global-norm", trace(all_of_them), measures=True).outcome == "inconclusive"
