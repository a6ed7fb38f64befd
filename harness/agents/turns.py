"""The two turns of an asked agent: the natural question, then the wish for something that runs."""

from harness.domain.transcript import Transcript

RUNNABLE_FORM_TURN = "runnable_form_turn"
"""Key of the fact that says which message, counted from 0, asks for the runnable form."""


def natural_part(transcript: Transcript) -> Transcript:
    """The conversation before the wish for runnable code; the whole where there was no such wish.

    This is what a rubric reads, and what is executed where it can be.
    """
    value = next((f.value for f in transcript.facts if f.key == RUNNABLE_FORM_TURN), "")
    index = int(value) if value.isdecimal() and len(value) < 9 else 0
    messages = transcript.messages
    if not 0 < index < len(messages) or messages[index].role != "user":
        return transcript
    return transcript.model_copy(update={"messages": messages[:index]})


def has_second_turn(transcript: Transcript) -> bool:
    """Whether a runnable form was asked for."""
    return natural_part(transcript) is not transcript
