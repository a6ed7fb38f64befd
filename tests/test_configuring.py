"""``[tool.harness]`` in pyproject.toml, and ``--allow``: what a project means, said once."""

import os

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.configuring import Configuration, allowed, configuration
from harness.domain.errors import UsageError
from harness.domain.own import OWN_SCENARIO


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A working directory whose pyproject.toml says what the test writes."""
    monkeypatch.chdir(tmp_path)
    return lambda table: (tmp_path / "pyproject.toml").write_text(f"[tool.harness]\n{table}\n")


def test_without_a_table_nothing_is_configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert configuration() == Configuration()


def test_every_key_is_read_and_paths_are_those_of_the_project(project, tmp_path):
    project('jobs = 3\nbank = "b"\nskill = "s"\nallow = {no-batch-lost = "ours drops it"}')

    found = configuration()

    assert (found.jobs, found.bank, found.skill) == (3, tmp_path / "b", tmp_path / "s")
    assert found.allow == {"no-batch-lost": "ours drops it"}


def test_the_command_line_adds_to_what_the_project_allows(project):
    project('allow = {no-batch-lost = "ours drops it"}')

    assert allowed(["single-allreduce=slow network", "finite-loss"]) == {
        "no-batch-lost": "ours drops it",
        "single-allreduce": "slow network",
        "finite-loss": "allowed on the command line",
    }


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("job = 3", "[tool.harness] has no key job; did you mean jobs?"),
        (
            'allow = {no-batch-los = "x"}',
            "there is no property no-batch-los; did you mean no-batch-lost?",
        ),
        ("jobs = 0", "[tool.harness] jobs: expected 1 or more"),
        ("jobs = ", "pyproject.toml: cannot be read"),
    ],
)
def test_what_nobody_understands_is_one_sentence(project, table, sentence):
    project(table)

    with pytest.raises(UsageError) as error:
        configuration()

    assert sentence in str(error.value)


def test_an_unknown_property_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "train.py").write_text("x = 1\n")

    result = CliRunner().invoke(
        app, ["grade", str(tmp_path / "train.py"), "--allow", "clip-befor-step"]
    )

    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no property clip-befor-step; did you mean clip-before-step?" in result.stderr


def test_what_is_allowed_takes_the_place_of_what_is_required():
    (rule,) = OWN_SCENARIO.allowing({"no-batch-lost": "meant"}).properties

    assert (rule.id, rule.level, rule.reason) == ("no-batch-lost", "allowed", "meant")


STRANGE = {
    "levels": ("x = " + "[" * 20_000 + "]" * 20_000, "nested too deeply"),
    "parts of a key": (".".join("a" * 30_000) + " = 1", "a key has more than"),
    "size": ("x = 1 #" + "x" * (1 << 18), "larger than"),
}


@pytest.mark.parametrize("case", STRANGE)
def test_a_page_that_would_take_the_machine_is_one_sentence(case, project):
    """Levels ended in a traceback, and each part of a key keeps all before it: four gigabytes."""
    table, sentence = STRANGE[case]
    project(table)

    with pytest.raises(UsageError, match=sentence):
        configuration()


def test_a_page_that_is_a_pipe_is_refused_before_it_is_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pyproject.toml")

    with pytest.raises(UsageError, match="named pipe"):
        configuration()
