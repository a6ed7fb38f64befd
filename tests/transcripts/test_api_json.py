"""JSON of the Anthropic and the OpenAI API."""

import json

import pytest

from harness.domain.transcript import Transcript, Unreadable
from harness.transcripts import files_after
from tests.transcripts.material import (
    ANSWER,
    FIXED,
    PROMPT,
    calls_of,
    fixture,
    only,
    results_of,
    said,
)


@pytest.mark.parametrize("name", ["anthropic-both.json", "anthropic-merged.json"])
def test_request_and_response_are_one_conversation(name):
    """However the two are put together; thinking is not part of the answer."""
    transcript = only(fixture(name))

    assert (transcript.prompt, transcript.answer) == (PROMPT, ANSWER)
    assert transcript.agent == "claude-sonnet-4-5"
    assert transcript.usage is not None
    assert (transcript.usage.output, transcript.usage.cache_read) == (101, 5)


def test_a_scenario_beside_the_request_is_kept():
    """Whoever recorded the exchange may say which scenario it belongs to."""
    assert only(fixture("anthropic-both.json")).scenario == "step-before-backward"


def test_a_response_alone_is_an_answer_and_a_request_alone_is_none():
    """A request without any assistant message asks, and nobody answers."""
    assert only(fixture("anthropic-response.json")).answer == ANSWER
    assert only(fixture("anthropic-request.json")).answer == ""


def test_only_calls_with_a_good_result_change_files():
    """One edit succeeded, one creation failed, one has no result."""
    transcript = only(fixture("anthropic-tools.json"))

    assert [status for _, status in calls_of(transcript)] == ["ok", "ok", "error", "pending"]
    assert [(f.path, f.content) for f in files_after(transcript)] == [("train.py", FIXED)]


def test_each_choice_is_a_transcript():
    """Several choices answer the same question."""
    first, second = fixture("openai-response.json")

    assert isinstance(first, Transcript)
    assert isinstance(second, Transcript)
    assert (first.answer, second.answer) == (ANSWER, "Lower the learning rate.")
    assert [t.origin.position for t in (first, second) if t.origin] == ["choice 1", "choice 2"]
    assert second.notes == ("The answer ended with length.",)


@pytest.mark.parametrize("name", ["openai-messages.json", "openai-messages.jsonl"])
def test_a_list_of_messages_is_a_conversation(name):
    """As an array or one a line."""
    transcript = only(fixture(name))

    assert (transcript.prompt, transcript.answer) == (PROMPT, ANSWER)


def test_arguments_that_are_no_json_do_no_harm():
    """The format keeps them as a string, and models get it wrong."""
    transcript = only(fixture("openai-tools.json"))

    assert calls_of(transcript) == [("write_file", "ok"), ("write_file", "error")]
    assert transcript.messages[2].calls[1].input == '{"path": "a.py", "content": '
    assert [(f.path, f.content) for f in files_after(transcript)] == [("train.py", FIXED)]
    assert transcript.scenario == "step-before-backward"


def test_what_is_complete_is_read_before_what_is_cut_off():
    """Two documents in a file, the second one truncated."""
    whole = json.dumps({"messages": [{"role": "user", "content": "a"}], "model": "m"})
    first, second = results_of(whole + "\n" + whole[:30], "openai")

    assert isinstance(first, Transcript)
    assert isinstance(second, Unreadable)
    assert second.sentence == "its JSON ends in the middle"


@pytest.mark.parametrize("content", ['"text"', "null", "[]", "{}", '{"messages": 3}', '[[["a"]]]'])
@pytest.mark.parametrize("form", ["anthropic", "openai", "claude-json", "inspect-json", "notebook"])
def test_json_of_an_unknown_form_is_unreadable(content, form):
    """Forced or not, JSON of another form gives one line."""
    found = results_of(content, form)

    assert found
    assert all(isinstance(r, Unreadable) for r in found)


def test_system_blocks_are_not_the_prompt():
    """The prompt is what the user said."""
    transcript = only(fixture("anthropic-request.json"))

    assert said(transcript, "system") == ["You help with PyTorch."]
