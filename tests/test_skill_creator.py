"""The files of skill-creator, read and written: evals.json and benchmark.json."""

import json

import pytest
from typer.testing import CliRunner

from harness.agents.evals import read_evals
from harness.cli import app
from harness.report.skill_creator import CODE_RIGHT
from harness.scenarios import default_bank, load_bank
from tests.report.sides import answer, report, side
from tests.sampling import sampled

BANK = load_bank(default_bank())
RIGHT = """
import sys
sys.stdin.read()
print('''```python
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
```''')
"""


def command(*words, obj=None):
    return CliRunner().invoke(app, [str(word) for word in words], obj=obj)


def evals(path, *found):
    path.write_text(json.dumps({"skill_name": "s", "evals": list(found)}))
    return path


def run_of(configuration, number, rate, name="loops"):
    result = {"pass_rate": rate, "passed": 1, "failed": 0, "total": 1}
    about = {"eval_id": 1, "eval_name": name, "configuration": configuration}
    return {**about, "run_number": number, "result": result, "expectations": []}


def test_the_bank_as_evals_is_read_back_as_its_own_scenarios(tmp_path):
    """Message, expectations and name: what is written finds its scenario again."""
    written = command("list", "--suite", "refactor", "--evals")
    path = tmp_path / "evals.json"
    path.write_text(written.stdout)
    first = json.loads(written.stdout)["evals"][0]

    assert CODE_RIGHT in first["expectations"]
    assert first["id"] == 1
    assert [s.id for s in read_evals(path, BANK).scenarios] == [
        s.id for s in BANK.scenarios if s.suite == "refactor"
    ]


def test_an_eval_of_ones_own_is_asked_and_judged_by_its_own_settings(tmp_path, warm):
    """Its expectations are a rubric for --judge; its program is run all the same."""
    path = evals(
        tmp_path / "evals.json",
        {"id": 7, "prompt": "Write a loop.", "expectations": ["It clears the gradients."]},
        {"id": "b", "prompt": "And another.", "assertions": ["It works."]},
    )
    agent = tmp_path / "agent.py"
    agent.write_text(RIGHT)
    told = command(
        *("run", "--agent", f"command:python {agent}", "--evals", path, "--plain", "--fresh"),
        *("--out", tmp_path / "run"),
        obj=warm,
    )

    assert told.exit_code == 0, told.output
    assert "eval 7/1: right, by its own settings" in told.stdout
    assert "2 code right" in told.stdout


def test_a_file_of_an_eval_stands_in_its_question_and_none_from_elsewhere(tmp_path):
    """Paths are those of the skill's folder."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "train.py").write_text("for x in loader: pass\n")
    inside = {"id": 1, "prompt": "Look.", "files": ["train.py"]}
    path = evals(tmp_path / "evals" / "evals.json", inside)

    assert "for x in loader" in read_evals(path, BANK).scenarios[0].prompt
    outside = evals(tmp_path / "evals" / "evals.json", {**inside, "files": ["../secret"]})
    told = command("run", "--agent", "reference", "--evals", outside)
    assert (told.exit_code, "is not in the folder" in told.stderr) == (2, True)


@pytest.mark.parametrize("text", sampled(['{"evals": [{"id": 1}]}', "{}", "[]", "no json"], 1))
def test_what_is_no_evals_file_is_one_sentence(tmp_path, text):
    """With the place in it and what was expected."""
    path = tmp_path / "evals.json"
    path.write_text(text)
    told = command("run", "--agent", "reference", "--evals", path)

    assert told.exit_code == 2
    assert "expected evals.json of skill-creator" in told.stderr


def test_two_evals_of_one_name_are_refused(tmp_path):
    """Their answers would be kept as one."""
    twice = [{"id": number, "name": "zero-grad-missing", "prompt": "a"} for number in (1, 2)]
    path = tmp_path / "evals.json"
    path.write_text(json.dumps({"evals": twice}))
    told = command("run", "--agent", "reference", "--evals", path)

    assert (told.exit_code, "2 evals are 'zero-grad-missing'" in told.stderr) == (2, True)


def test_an_eval_without_a_name_keeps_its_number():
    """Whoever joins the two files does it by that."""
    from harness.report.skill_creator import _numbers

    assert _numbers(["a", "eval 1", "eval 77", "b"]) == {"a": 2, "eval 1": 1, "eval 77": 77, "b": 3}


def test_two_runs_become_a_benchmark_that_is_compared_again():
    """With the names that its viewer reads; what is inconclusive is no run, and is counted."""
    from harness.comparison.benchmark import arms_of_benchmark
    from harness.report.skill_creator import render_benchmark

    old = side("old", answer("wrong"), answer("wrong"), answer("inconclusive"))
    new = side("new", answer("right"), answer("wrong"), answer("right"))
    found = json.loads(render_benchmark(report(old, new)))
    before, after = arms_of_benchmark(json.dumps(found).encode(), "benchmark.json")

    assert {r["configuration"] for r in found["runs"]} == {"with_skill", "without_skill"}
    assert found["run_summary"]["delta"]["pass_rate"].startswith("+")
    assert "old: 1 inconclusive" in found["notes"][-2]
    assert [t.outcome for t in before.scenarios[0].trials] == ["wrong", "wrong"]
    assert [t.outcome for t in after.scenarios[0].trials] == ["right", "wrong", "right"]


def test_compare_reads_a_benchmark(tmp_path):
    """The configuration with the skill is the new arm; a run that meets all expectations is right."""
    old, new = ("without_skill", 0.5), ("with_skill", 1.0)
    names = [f"eval-{n}" for n in range(8)]
    runs = [run_of(c, 1, rate, name) for name in names for c, rate in (old, new)]
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps({"metadata": {"executor_model": "m"}, "runs": runs}))
    told = command("compare", path, "--json")
    found = json.loads(told.stdout)

    assert told.exit_code == 0
    assert [found["old"]["name"], found["new"]["name"]] == ["without_skill", "with_skill"]
    assert found["new"]["tally"]["right"] == 8


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ([], "expected benchmark.json of skill-creator"),
        ([run_of("with_skill", 1, 1.0)], "has 1 configurations"),
    ],
)
def test_what_is_no_benchmark_is_one_sentence(tmp_path, runs, sentence):
    """And exit code 2."""
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps({"runs": runs}))
    told = command("compare", path)

    assert told.exit_code == 2
    assert sentence in told.stderr


@pytest.mark.full
def test_no_code_counts_as_not_right_and_ends_with_four_under_strict(tmp_path, warm):
    """Of an agent that was asked a question about code."""
    (tmp_path / "zero-grad-missing.md").write_text("Just be careful.")
    loop = next(s for s in BANK.scenarios if s.id == "clip-after-step").reference
    (tmp_path / "clip-after-step.md").write_text(f"```python\n{loop}\n```")
    asked = (
        "run",
        "--agent",
        f"replay:{tmp_path}",
        "--scenario",
        "zero-grad-missing,clip-after-step",
    )

    told = command(*asked, "--plain", obj=warm)
    assert (told.exit_code, told.stdout.splitlines()[-1]) == (
        0,
        "1 of 2 right: 1 code right, 1 no code",
    )
    assert command(*asked, "--strict", obj=warm).exit_code == 4
