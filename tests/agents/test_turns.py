"""The natural part of a transcript ends where the runnable form is asked for, and nowhere else."""

import pytest

from harness.agents.turns import RUNNABLE_FORM_TURN, natural_part
from harness.domain.transcript import Fact, Message, Transcript

TALK = Transcript(
    messages=(
        Message(role="user", text="Where do I clip?"),
        Message(role="assistant", text="Before the step."),
        Message(role="user", text="Now as code."),
        Message(role="assistant", text="step()"),
    ),
    agent="somebody",
)


def marked(value: str) -> Transcript:
    return TALK.model_copy(update={"facts": (Fact(key=RUNNABLE_FORM_TURN, value=value),)})


def test_the_natural_part_of_a_talk_ends_at_the_mark():
    assert natural_part(marked("2")).answer == "Before the step."


@pytest.mark.parametrize("value", ["0", "1", "3", "4", "-2", "²", "9" * 5000, "two", ""])
def test_a_mark_that_points_elsewhere_changes_nothing(value):
    assert natural_part(marked(value)).messages == TALK.messages


def test_without_a_mark_it_is_the_whole():
    assert natural_part(TALK) is TALK
