"""A judge of recorded replies that lacks some: the code is told all the same, exit code 2."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.domain.model import Completion, Usage
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens

END = "missing; what they decide is unassessed, all else is shown"
REPLY = json.dumps(
    {
        "assessments": [
            {"id": "names-the-loss", "found": True, "quote": "The loss is"},
            {"id": "clips-harder", "found": False, "quote": None},
            {"id": "excuse 1", "found": False, "quote": None},
        ]
    }
)

RECORDED = Completion(text=REPLY, model="m", usage=Usage(), cost=None).model_dump_json()


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Grade two wrong answers, or what else is asked for, by the replies of one folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bank = FakeBank(tmp_path).add("alpha")
    replies = tmp_path / "replies"
    replies.mkdir()
    for name in ("a.md", "b.md"):
        said = f"The loss is {name}.\n\n```python\nloss = float('nan')\n```\n"
        (tmp_path / name).write_text(said)
    files = [str(tmp_path / name) for name in ("a.md", "b.md")]

    def call(*command):
        command = command or ("grade", *files, "--scenario", "alpha")
        judge = ["--judge", f"replay:{replies}", "--bank", str(bank.folder)]
        return CliRunner().invoke(app, [*command, *judge], obj=opens(FakeExecutor()))

    return call


def lacked(result):
    """The files of the replies that were missing, as the end says."""
    *lines, _ = result.stderr.splitlines()
    return [Path(line.partition(": no such recorded reply")[0]) for line in lines]


def test_answers_are_told_by_their_code_and_the_end_says_which_replies_are_missing(call):
    """The first answer without a reply ended the batch, and its verdict was lost."""
    result = call()

    assert "2 code wrong" in result.stdout
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"harness: 2 recorded replies are {END}"
    assert len(set(lacked(result))) == 2


def test_what_was_recorded_is_still_read(call):
    """One answer of two has its reply."""
    first, second = lacked(call())
    first.write_text(RECORDED)

    result = call()

    assert lacked(result) == [second]
    assert result.stderr.splitlines()[-1] == f"harness: 1 recorded reply is {END}"
    assert result.stdout.count("criteria met 2 of 2, 0 unassessed") == 1

    second.write_text(RECORDED)
    assert (call().exit_code, call().stderr) == (1, "")


def test_a_stored_run_is_told_and_read_anew_once_the_replies_are_there(call, tmp_path):
    """``regrade`` without them says the same."""
    run = str(tmp_path / "run")
    asked = call("grade", str(tmp_path / "a.md"), "--scenario", "alpha", "--out", run)
    again = call("regrade", run)

    for result in (asked, again):
        assert "code wrong" in result.stdout
        assert result.exit_code == 2
        assert END in result.stderr

    for file in lacked(again):
        file.write_text(RECORDED)
    assert call("regrade", run).exit_code == 1


def test_an_agent_of_the_bank_that_has_no_replies_is_told(call):
    """The bank's own."""
    result = call("run", "--agent", "buggy", "--scenario", "alpha")

    assert "code wrong" in result.stdout
    assert result.exit_code == 2
    assert f"harness: 1 recorded reply is {END}" in result.stderr
