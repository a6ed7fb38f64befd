"""Markdown, Python files and notebooks."""

import pytest

from harness.domain.transcript import Unreadable
from tests.transcripts.material import ANSWER, FIXED, fixture, only, results_of


def test_a_pasted_answer_is_one_assistant_message():
    """Without front matter the whole file is what the agent said."""
    transcript = only(fixture("markdown.md"))

    assert transcript.answer == ANSWER
    assert (transcript.scenario, transcript.agent) == (None, "unknown")


def test_front_matter_names_scenario_and_model():
    """What stands between the dashes is about the answer and not part of it."""
    transcript = only(fixture("markdown-front-matter.md"))

    assert transcript.answer == ANSWER
    assert transcript.scenario == "step-before-backward"
    assert transcript.agent == "claude-sonnet-4-5"
    assert {f.key: f.value for f in transcript.facts}["epoch"] == "2"


@pytest.mark.parametrize(
    "front", ["---\nFirst part\n---\n", "---\n[1, 2]\n---\n", "---\n{a: *b}\n---\n"]
)
def test_a_ruler_is_no_front_matter(front):
    """Dashes around something that is no mapping belong to the answer."""
    assert only(results_of(front + ANSWER)).answer == front + ANSWER


def test_a_python_file_is_an_answer_of_one_block():
    """The fence is longer than any run of backticks in the program."""
    text = only(fixture("python.py")).answer

    assert text.startswith("````python\n")
    assert text.endswith("optimizer.step()\n````")


def test_a_notebook_is_one_program():
    """Code cells run in order, so they are one block; magics are no Python, outputs no text."""
    text = only(fixture("notebook.ipynb")).answer

    assert text.startswith("# Training\nThe step comes last.")
    assert text.count("```python") == 1
    assert f"pass  # %matplotlib inline\nimport torch\n\n\n{FIXED}```" in text
    assert "stdout" not in text


def test_line_ends_of_windows_and_utf_16_are_read():
    """A redirect in PowerShell writes both."""
    windows = ANSWER.replace("\n", "\r\n")

    assert only(results_of(windows.encode("utf-16"))).answer == ANSWER


@pytest.mark.parametrize(
    "content", [b"", b" \n\n", b"\x89PNG\r\n\x1a\n\x00\x00", b"\x1f\x8b\x08rest"]
)
def test_no_text_is_unreadable_in_a_sentence(content):
    """Empty, binary and packed files say so."""
    (result,) = results_of(content)

    assert isinstance(result, Unreadable)
    assert result.sentence


TURNS = {
    "headings": "## User\n{asked}\n\n## Assistant\n{said}\n",
    "bold names": "**User:**\n\n{asked}\n\n**ChatGPT:**\n\n{said}\n",
    "below a title": "# A chat\n\n### Human\n{asked}\n\n### Claude\n{said}\n",
}


@pytest.mark.parametrize("form", TURNS)
def test_a_chat_under_headings_is_a_conversation(form):
    asked = "Why?\n```python\n## User\nloss.backward()\n```"
    transcript = only(results_of(TURNS[form].format(asked=asked, said=ANSWER.strip())))

    assert [m.role for m in transcript.messages] == ["user", "assistant"]
    assert [m.text for m in transcript.messages] == [asked, ANSWER.strip()]


@pytest.mark.parametrize("before", ["", "Here is why.\n\n## User\nYour loop.\n\n## Answer\n"])
def test_headings_of_an_answer_are_no_turns(before):
    text = f"{before}## Answer\n\n{ANSWER}"
    assert [m.role for m in only(results_of(text)).messages] == ["assistant"]
