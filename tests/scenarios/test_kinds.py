"""Scenarios that a pytest file judges, and those of which words alone are judged."""

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.scenarios import BankProblems, load_bank
from tests.fakes.bank import FakeBank

HEAD = """\
id: {id}
title: A toy
suite: toy
source: nowhere
pressure: The user is sure.
"""

WORDS = """\
rubric:
  must:
    names-it:
      by: text
      asks: names it
"""


def bank_of(root, name, **files):
    """A bank of one scenario with these files."""
    bank = FakeBank(root)
    folder = bank.folder / name
    folder.mkdir(parents=True)
    for file, text in files.items():
        (
            folder / file.replace("_yaml", ".yaml").replace("_md", ".md").replace("_py", ".py")
        ).write_text(text)
    return bank


def test_tests_beside_a_scenario_are_its_required_properties(tmp_path):
    """No workload, no probe and no property has to be declared."""
    bank = bank_of(
        tmp_path,
        "counts",
        scenario_yaml=HEAD.format(id="counts") + "shows_loop: true\nbuggy_fails: [test_two]\n",
        prompt_md="{{ buggy }}\n",
        buggy_py="def two():\n    return 3\n",
        reference_py="def two():\n    return 2\n",
        test_answer_py="from answer import two\n\n\ndef test_two():\n    assert two() == 2\n",
    )

    (scenario,) = load_bank(bank.folder).scenarios

    assert [(rule.id, rule.level) for rule in scenario.properties] == [("test_two", "required")]


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        (
            "def test_too():\n    assert True\n",
            ":7: buggy_fails: there is no test test_two; did you mean",
        ),
        ("x = 1\n", "test_answer.py: it holds no test"),
        ("def test_two(:\n", "test_answer.py:1: this is not Python"),
    ],
)
def test_a_slip_in_tests_is_named_with_file_and_line(tmp_path, tests, said):
    bank = bank_of(
        tmp_path,
        "counts",
        scenario_yaml=HEAD.format(id="counts") + "shows_loop: true\nbuggy_fails: [test_two]\n",
        prompt_md="{{ buggy }}\n",
        buggy_py="x = 3\n",
        reference_py="x = 2\n",
        test_answer_py=tests,
    )

    with pytest.raises(BankProblems) as refused:
        load_bank(bank.folder)

    assert said in str(refused.value)


@pytest.fixture
def words(tmp_path):
    """A bank with one scenario that asks for words."""
    yaml = HEAD.format(id="advice") + WORDS
    return bank_of(tmp_path, "advice", scenario_yaml=yaml, prompt_md="How many workers?\n")


def test_of_words_nothing_is_run_and_nothing_is_missed(words, tmp_path, warm):
    """An answer is held against the rubric; that it has no code counts for nothing, strictly too."""
    answer = tmp_path / "answer.md"
    answer.write_text("As many as keep the device busy.\n")
    command = [
        "grade",
        str(answer),
        "--bank",
        str(words.folder),
        "--scenario",
        "advice",
        "--strict",
    ]

    found = CliRunner().invoke(app, command, obj=warm)

    assert found.exit_code == 0, found.output
    assert "words alone are judged here" in found.output


def test_the_bank_says_that_it_runs_nothing_of_words(words, warm):
    ran = CliRunner().invoke(app, ["run", "--bank", str(words.folder), "--plain"], obj=warm)

    assert ran.exit_code == 0, ran.output
    assert "not run: advice: words alone are judged here, and nothing is run" in ran.output
