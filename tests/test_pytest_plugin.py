"""The pytest plugin: what a project's own tests can ask, and a skill or a bank as tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from harness.pytest_plugin import OPEN
from harness.scenarios import default_bank

pytest_plugins = ["pytester"]

TESTS = '''
def test_a_right_loop_is_right(grade):
    code = """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
    assert grade(code).code == "right"


def test_a_file_is_graded_by_the_same_grader(grade, grader):
    found = grade("train.py")
    assert found.code == "wrong"
    assert "clip-once-per-update" in found.reasons[0]
'''
TRAIN = Path(__file__).parents[1] / "examples" / "train.py"


@pytest.mark.full
def test_a_project_grades_its_trainer_in_its_own_tests(tmp_path):
    """With nothing but the two fixtures."""
    (tmp_path / "test_training.py").write_text(TESTS)
    (tmp_path / "train.py").write_text(TRAIN.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "harness.pytest_plugin"]
    paths = os.pathsep.join([str(TRAIN.parents[1]), os.environ.get("PYTHONPATH", "")])
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": paths}
    done = subprocess.run(
        command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False
    )

    assert "2 passed" in done.stdout, done.stdout + done.stderr


SKILL = """---
name: loops
description: How to write loops.
---
# Loops

## Clear the gradients

```python
# RIGHT
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
```

## Never clear

```python
# RIGHT
for x, y in train_loader:
    criterion(model(x), y).backward()
    optimizer.step()
```

```python
from nowhere_to_be_found import Trainer

Trainer(model).fit()
```
"""


class Lent:
    """Gives a session the jail that is open already."""

    def __init__(self, open_instruments):
        self.open_instruments = open_instruments

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        config.stash[OPEN] = self.open_instruments


@pytest.fixture
def skill(pytester):
    """A skill with a block that holds, one whose claim fails, and one that lacks a package."""
    folder = pytester.mkdir("loops")
    (folder / "SKILL.md").write_text(SKILL)
    return folder


@pytest.fixture
def session(pytester, warm):
    """Pytest in this process, with the open jail."""
    return lambda *arguments: pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", *map(str, arguments), plugins=[Lent(warm)]
    )


def test_each_block_of_a_skill_is_an_item(session, skill):
    """One that holds passes, a false claim fails with a sentence and its place, what lacks a package is skipped."""
    result = session("--skill", skill, "-v", "-rs")

    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*SKILL.md::clear-the-gradients PASSED*",
            "*SKILL.md::never-clear FAILED*",
            "*SKILL.md::never-clear-2 SKIPPED*",
            "loops/SKILL.md:*: claim fails: *",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_nothing_else_is_collected_unless_it_is_named(session, skill, pytester):
    """`pytest --skill DIR` in a project with tests of its own; with paths beside it, only those."""
    pytester.makepyfile("def test_of_the_project(): pass")

    session("--skill", skill, "-k", "clear-the").assert_outcomes(passed=1, deselected=2)
    session("--skill", skill, ".", "-k", "project or clear-the").assert_outcomes(
        passed=2, deselected=2
    )


def test_an_option_in_the_project_file_adds_to_its_tests(session, skill, pytester):
    """As `testpaths` and `--doctest-modules` in `addopts` do."""
    pytester.makepyfile("def test_of_the_project(): pass")
    pytester.makeini("[pytest]\naddopts = --skill loops\n")

    session("-k", "project or clear-the").assert_outcomes(passed=2, deselected=2)


@pytest.mark.full
def test_each_scenario_of_a_bank_is_an_item(session, pytester):
    """It passes where its loop fails as declared and its fix is right; else it says what differs."""
    bank = pytester.mkdir("scenarios")
    shutil.copytree(default_bank() / "zero-grad-missing", bank / "zero-grad-missing")
    shutil.copytree(default_bank().parent / "reference_impls", bank.parent / "reference_impls")
    broken = shutil.copytree(default_bank() / "clip-after-step", bank / "clip-after-step")
    text = (broken / "scenario.yaml").read_text()
    (broken / "scenario.yaml").write_text(text.replace("[clip-before-step]", "[finite-loss]"))
    result = session("--bank", bank)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the faulty loop does not fail finite-loss, as declared"])


def test_the_tests_that_a_scenario_is_judged_by_are_none_of_the_project(session, pytester):
    """They import an answer, which only the jail has."""
    bank = pytester.mkdir("scenarios")
    named = "split-leaks-patients"
    shutil.copytree(default_bank() / named, bank / named)
    shutil.copytree(default_bank().parent / "reference_impls", bank.parent / "reference_impls")

    result = session("--bank", bank, "--collect-only", "-q")
    result.stdout.fnmatch_lines(["scenarios/split-leaks-patients/scenario.yaml::*", "1 test*"])
    session(".").assert_outcomes()


def test_a_report_for_machines_names_the_block(session, skill, pytester):
    """JUnit: file, name and reason."""
    session("--skill", skill, "--junitxml", "out.xml", "-k", "never-clear and not 2")
    (case,) = ET.parse(pytester.path / "out.xml").getroot().iter("testcase")

    assert case.get("name") == "never-clear"
    assert "claim fails" in case.find("failure").text


@pytest.mark.parametrize("option", ["--skill", "--bank"])
def test_a_folder_that_is_not_there_is_one_sentence(session, option):
    """And pytest's exit code for usage."""
    result = session(option, "nowhere")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: harness: *nowhere*"])


def test_the_fixtures_share_the_jail_of_the_items(session, skill, pytester):
    """One for a process is enough."""
    pytester.makepyfile(
        """
        def test_grade(grade):
            assert grade("for x, y in train_loader:\\n    loss = 1\\n").code != "wrong"
        """
    )

    session("--skill", skill, ".", "-k", "test_grade").assert_outcomes(passed=1, deselected=3)


def test_a_file_that_is_not_there_is_a_failure_at_the_line_that_names_it(session, skill, pytester):
    """Without the way of the harness to the sentence."""
    pytester.makepyfile(
        "from pathlib import Path\ndef test_gone(grade):\n    grade(Path('gone.py'))\n"
    )
    result = session("--skill", skill, ".", "-k", "test_gone")

    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines([">*grade(Path('gone.py'))", "E *gone.py: no such file*"])
    assert "interface.py" not in result.stdout.str()


@pytest.mark.full
def test_blocks_run_on_several_workers_and_those_that_failed_run_again(pytester, skill):
    """xdist and `--lf`, in processes and jails of their own."""
    first = pytester.runpytest_subprocess("--skill", str(skill), "-n", "2")
    first.assert_outcomes(passed=1, failed=1, skipped=1)

    again = pytester.runpytest_subprocess("--skill", str(skill), "--lf")
    again.assert_outcomes(failed=1)
