"""Clips that have no gradients any more."""

from harness.properties.evidence.dry_clips import stays_dry
from tests.fakes.traces import update

BOTH = (
    "clip_grad_norm_(2 gradients) at 1 returned 3",
    "clip_grad_norm_(4 gradients) at 1 returned 3",
)
FIRST, SECOND = (
    (
        "clip_grad_norm_(2 gradients) at 1 returned 3",
        "clip_grad_norm_(0 gradients) at 1 returned 0",
    ),
    (
        "clip_grad_norm_(0 gradients) at 1 returned 0",
        "clip_grad_norm_(4 gradients) at 1 returned 3",
    ),
)


def updates(*calls):
    return [update(index, clip_calls=made) for index, made in enumerate(calls)]


def test_a_clip_without_gradients_in_every_later_update_stays_dry():
    assert stays_dry(updates(BOTH, FIRST, FIRST, FIRST))


def test_two_clips_that_have_gradients_in_turns_do_not():
    assert not stays_dry(updates(BOTH, FIRST, SECOND, FIRST, SECOND))


def test_fewer_than_three_later_updates_tell_nothing():
    assert not stays_dry(updates(BOTH, FIRST, FIRST))
