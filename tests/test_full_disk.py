"""A disk that fills up under a stored run: the verdicts are told, the folder is named, exit code 2."""

import json
import sys

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.store import RunFolder
from tests.fakes.bank import FakeBank
from tests.fakes.disk import no_file_longer_than
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens

ROOM_FOR_A_HEAD = 1500
"""Bytes: more than ``run.json`` and a transcript take, less than a graded answer."""

WRONG = "```python\nloss = float('nan')\n```\n"


@pytest.fixture
def bank(tmp_path):
    return FakeBank(tmp_path).add("alpha").add("beta")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def call(bank, *arguments):
    command = [*map(str, arguments), "--bank", str(bank.folder)]
    return CliRunner().invoke(app, command, obj=opens(FakeExecutor()))


def call_on_a_full_disk(bank, *arguments):
    with no_file_longer_than(ROOM_FOR_A_HEAD):
        return call(bank, *arguments)


def not_stored(run, answers):
    told = f"harness: {run}: cannot be written: File too large; {answers} told only, not stored: "
    return told + "repair that, and the same command goes on\n"


def test_answers_that_cannot_be_stored_are_told(bank, tmp_path):
    """All of the batch, and the same command stores them once there is room."""
    run, files = tmp_path / "run", [tmp_path / "a.md", tmp_path / "b.md"]
    for file in files:
        file.write_text(WRONG)
    command = ["grade", *files, "--scenario", "alpha", "--out", run]

    full = call_on_a_full_disk(bank, *command)
    again = call(bank, *command)

    assert (full.exit_code, full.stderr) == (2, not_stored(run, "2 answers are"))
    assert full.stdout == again.stdout
    assert "2 code wrong" in full.stdout
    assert (again.exit_code, again.stderr) == (1, "")


def test_a_bank_that_checks_itself_is_told_whole(bank, tmp_path):
    """The table, and what could not be kept of it."""
    full = call_on_a_full_disk(bank, "run", "--out", tmp_path / "run")

    assert (full.exit_code, full.stderr) == (2, not_stored(tmp_path / "run", "4 answers are"))
    assert "2 of 2 scenarios behave as declared" in full.stdout


def test_nothing_more_is_asked_where_answers_cannot_be_stored(bank, tmp_path):
    """An answer may have its price, and its text would be lost."""
    asked, run = tmp_path / "asked", tmp_path / "run"
    (tmp_path / "agent.py").write_text(f"open({str(asked)!r}, 'a').write('.'); print({WRONG!r})")
    agent = f"command:{sys.executable} {tmp_path / 'agent.py'}"

    full = call_on_a_full_disk(bank, "run", "--agent", agent, "--trials", "100", "--out", run)

    assert full.exit_code == 2
    assert f"{run}: cannot be written: File too large; nothing more was asked" in full.stderr
    assert len(asked.read_text()) == full.stdout.count("code wrong") < 200


def test_arms_that_cannot_be_stored_are_not_compared(bank, tmp_path):
    """A comparison of what had room would be one of other answers."""
    options = [
        "--agent",
        "reference",
        "--skill",
        "none",
        "--skill",
        "none",
        "--out",
        tmp_path / "x",
    ]

    full = call_on_a_full_disk(bank, "compare", *options, "--trials", "1")

    assert (full.exit_code, full.stdout) == (2, "")
    assert f"{tmp_path / 'x' / 'none'}: cannot be written: File too large; " in full.stderr


def test_a_full_disk_is_told_of_a_run_that_is_judged_anew(bank, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    before = call(bank, "run", "--agent", "buggy", "--out", old)

    full = call_on_a_full_disk(bank, "regrade", old, "--out", new)

    assert (full.exit_code, full.stderr) == (2, not_stored(new, "2 answers are"))
    assert full.stdout == before.stdout


def test_judging_anew_keeps_the_traces_of_scenarios_that_are_gone(bank, tmp_path):
    """They stay as they are, in the new run as well."""
    old, new, other = tmp_path / "old", tmp_path / "new", tmp_path / "other"
    call(bank, "run", "--agent", "buggy", "--out", old)

    call(FakeBank(other).add("alpha"), "regrade", old, "--out", new)

    with RunFolder.load(old) as before, RunFolder.load(new) as after:
        assert [one.traces for one in after] == [one.traces for one in before]
        assert json.loads((new / "run.json").read_text())["kind"] == "agent"


def test_a_matrix_that_cannot_be_written_leaves_the_report(bank, tmp_path):
    """It took minutes."""
    full = call_on_a_full_disk(bank, "quality", "--matrix", tmp_path / "m.md")

    assert (full.exit_code, full.stderr.count("\n")) == (2, 1)
    assert f"{tmp_path / 'm.md'}: cannot be written: File too large" in full.stderr
    assert "mutants killed" in full.stdout
