"""Logs of Inspect."""

import json

import pytest

from harness.domain.transcript import Transcript, Unreadable
from harness.transcripts import files_after, opened
from harness.transcripts.inspect_log import read_inspect_eval
from tests.transcripts.material import (
    ANSWER,
    FIXED,
    MATERIAL,
    PROMPT,
    calls_of,
    fixture,
    results_of,
)

LOGS = ["inspect.json", "inspect-deflated.eval", "inspect-zstandard.eval"]


@pytest.mark.parametrize("name", LOGS)
def test_each_sample_is_a_transcript(name):
    """Scores that are NaN, events and attachments do not keep it from being read."""
    first, second = fixture(name)

    assert isinstance(first, Transcript)
    assert isinstance(second, Transcript)
    assert first.prompt == second.prompt == PROMPT
    assert (first.answer, second.answer) == (f"I write it.\n\n{ANSWER}", "Zero them.")
    assert (first.scenario, second.scenario) == ("step-before-backward", "no-zero-grad")
    assert second.notes == ("The sample ended with an error: boom",)


def test_a_sample_that_failed_before_it_was_answered_is_no_answer():
    """A provider that could not be reached says nothing of a skill."""
    log = json.loads((MATERIAL / "inspect.json").read_text())
    second = log["samples"][1]
    second |= {"messages": second["messages"][:1], "output": {"choices": []}}
    first, failed = results_of(json.dumps(log).encode())

    assert isinstance(first, Transcript)
    assert isinstance(failed, Unreadable)
    assert failed.sentence.endswith("ended with an error before it was answered: boom")


@pytest.mark.parametrize("name", LOGS)
def test_a_call_without_permission_changed_nothing(name):
    """Errors are beside the text of a tool message."""
    first = fixture(name)[0]

    assert isinstance(first, Transcript)
    assert calls_of(first) == [("bash", "ok"), ("bash", "denied")]
    assert [(f.path, f.content) for f in files_after(first)] == [("train.py", FIXED)]


def test_without_zstandard_it_says_what_to_install():
    """The package is an extra."""
    with opened(MATERIAL / "inspect-zstandard.eval") as source:
        (result,) = read_inspect_eval(source, load=lambda: None)

    assert isinstance(result, Unreadable)
    assert "[inspect]" in result.sentence


def test_samples_before_the_end_of_a_cut_off_log_are_read():
    """A log that was being written."""
    text = (MATERIAL / "inspect.json").read_bytes()
    first, second = results_of(text[:-400])

    assert isinstance(first, Transcript)
    assert isinstance(second, Unreadable)


@pytest.mark.parametrize("name", LOGS[1:])
def test_a_damaged_archive_is_unreadable(name):
    """Cut off, or with bytes changed in the middle."""
    raw = (MATERIAL / name).read_bytes()
    damaged = raw[:200] + b"\xff" * 60 + raw[260:]

    assert all(isinstance(r, Unreadable) for r in results_of(raw[:-300], "inspect-eval"))
    assert any(isinstance(r, Unreadable) for r in results_of(damaged))
