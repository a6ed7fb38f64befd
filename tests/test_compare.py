"""`harness compare`: two skills, one agent, and what the gate says."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens

OBEYS = """
import pathlib, sys
sys.stdin.read()
text = "".join(p.read_text() for p in pathlib.Path(".claude").rglob("SKILL.md"))
loss = "1.0" if "use one" in text else "float('nan')"
print(f"```python\\nloss = {loss}\\n```")
"""
"""An agent that is right exactly when its skill says so."""


@pytest.fixture
def bank(tmp_path: Path) -> FakeBank:
    fake = FakeBank(tmp_path)
    for number in range(8):
        fake.add(f"scenario-{number}")
    return fake


@pytest.fixture
def agent(tmp_path: Path) -> str:
    file = tmp_path / "agent.py"
    file.write_text(OBEYS)
    return f"command:{sys.executable} {file}"


def skill(folder: Path, advice: str) -> Path:
    folder.mkdir(parents=True)
    name = folder.name
    text = f"---\nname: {name}\ndescription: Advice about losses.\n---\n{advice}\n"
    (folder / "SKILL.md").write_text(text)
    return folder


def compare(bank, *arguments):
    command = ["compare", "--bank", str(bank.folder), *map(str, arguments)]
    return CliRunner().invoke(app, command, obj=opens(FakeExecutor()))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_skill_that_makes_every_answer_wrong_is_conclusively_worse(bank, agent, tmp_path):
    """Asked, graded, stored, compared in one go; the gate's exit code is 1."""
    good, bad = skill(tmp_path / "good", "use one"), skill(tmp_path / "bad", "use nan")
    options = ["--agent", agent, "--trials", "1", "--out", tmp_path / "runs", "--gate"]

    result = compare(bank, "--skill", good, "--skill", bad, *options)

    assert result.exit_code == 1
    assert "bad is worse than good: 100 points fewer right answers" in result.stdout
    assert {path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()} == {"good", "bad"}


def test_stored_runs_are_compared_without_asking(bank, agent, tmp_path):
    """The agent is gone, and the same is said."""
    good, bad = skill(tmp_path / "good", "use one"), skill(tmp_path / "bad", "use nan")
    options = ["--agent", agent, "--trials", "1", "--out", tmp_path / "runs", "--json"]
    asked = compare(bank, "--skill", bad, "--skill", good, *options)
    (tmp_path / "agent.py").unlink()

    again = compare(bank, tmp_path / "runs/bad", tmp_path / "runs/good", "--json")

    assert again.exit_code == 0
    assert json.loads(again.stdout) == json.loads(asked.stdout)
    assert json.loads(again.stdout)["estimate"]["says"] == "better"


@pytest.mark.full
def test_without_a_skill_is_an_arm_like_any_other(bank, agent, tmp_path):
    """`--skill none` is the baseline."""
    good = skill(tmp_path / "good", "use one")

    result = compare(bank, "--skill", "none", "--skill", good, "--agent", agent, "--trials", "1")

    assert "good is better than none: 100 points more right answers" in result.stdout


def test_an_unchanged_skill_is_never_worse(bank, agent, tmp_path):
    """The instrument against itself, freshly asked: no difference is shown."""
    good = skill(tmp_path / "good", "use one")

    result = compare(bank, "--skill", good, "--agent", agent, "--trials", "1", "--aa", "--gate")

    assert result.exit_code in (0, 4)
    assert "No difference shown between a and b" in result.stdout


def test_runs_that_are_not_comparable_are_refused_with_the_reason(bank, agent, tmp_path):
    """Another bank, another question. `--anyway` compares them with a warning."""
    good = skill(tmp_path / "good", "use one")
    options = ["--agent", agent, "--trials", "1", "--out", tmp_path / "runs"]
    compare(bank, "--skill", good, "--skill", "none", *options)
    run = tmp_path / "runs/none/run.json"
    run.write_text(run.read_text().replace('"judge": "none"', '"judge": "replay:r"'))

    refused = compare(bank, tmp_path / "runs/good", tmp_path / "runs/none")
    allowed = compare(bank, tmp_path / "runs/good", tmp_path / "runs/none", "--anyway")

    assert refused.exit_code == 2
    assert "not comparable: the judges differ" in refused.stderr
    assert "warning: the judges differ" in allowed.stdout


def test_a_plan_says_what_could_be_seen_before_anything_is_asked(bank):
    """Eight scenarios, three trials."""
    result = compare(bank, "--plan")

    assert result.exit_code == 0
    assert result.stdout.startswith("8 scenarios, 3 trials of each in each arm")


def test_a_run_is_not_compared_with_itself(bank, agent, tmp_path):
    """Somebody meant another folder."""
    options = ["--agent", agent, "--trials", "1", "--out", tmp_path / "runs"]
    compare(bank, "--skill", "none", "--skill", "none", *options)
    run = tmp_path / "runs/none"

    result = compare(bank, run, tmp_path / "runs/../runs/none")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "a run is given twice" in result.stderr


def test_a_skill_that_cannot_be_read_is_told_before_the_first_arm_is_asked(bank, tmp_path):
    """What the first arm costs would be lost."""
    asked = tmp_path / "asked"
    noting = f"command:{sys.executable} -c 'open({str(asked)!r}, \"w\")'"

    result = compare(bank, "--skill", "none", "--skill", tmp_path / "nowhere", "--agent", noting)

    assert (result.exit_code, result.stdout, asked.exists()) == (2, "", False)
    assert result.stderr.startswith(f"harness: {tmp_path / 'nowhere'}: the skill cannot be read")


@pytest.mark.parametrize("arguments", [[], ["one-run"], ["--skill", "a"], ["--agent", "buggy"]])
def test_a_question_that_is_not_whole_is_exit_code_2(bank, arguments):
    """In one sentence."""
    result = compare(bank, *arguments)

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.full
def test_a_conclusively_worse_skill_is_exit_code_1_without_a_gate_too(bank, agent, tmp_path):
    """As the table of exit codes says."""
    good, bad = skill(tmp_path / "good", "use one"), skill(tmp_path / "bad", "use nan")
    common = ["--agent", agent, "--trials", "1"]

    assert compare(bank, "--skill", good, "--skill", bad, *common).exit_code == 1
    assert compare(bank, "--skill", bad, "--skill", good, *common).exit_code == 0


def test_few_scenarios_are_warned_of_before_anything_is_asked(bank, tmp_path):
    """Five that all change are not significant: the money would be spent for nothing."""
    good, bad = skill(tmp_path / "good", "use one"), skill(tmp_path / "bad", "use nan")
    chosen = ["--scenario", "scenario-1,scenario-2"]
    asked = ["--agent", f"command:{sys.executable} -c 'raise SystemExit(1)'", "--trials", "1"]

    result = compare(bank, "--skill", good, "--skill", bad, *chosen, *asked)

    assert "harness: 2 scenarios: a comparison this small can show nothing" in result.stderr
    assert result.stderr.index("can show nothing") < result.stderr.index("asking, arm good")


def test_a_plan_counts_the_scenarios_that_are_named(bank):
    """One-go mode takes the options of `run`."""
    result = compare(bank, "--plan", "--scenario", "scenario-1,scenario-2")

    assert result.stdout.startswith("2 scenarios")


@pytest.mark.full
def test_in_rounds_it_stops_when_the_answer_is_clear(bank, agent, tmp_path):
    """Eight scenarios that are all lost need one round of five; the runs say how they were asked."""
    good, bad = skill(tmp_path / "good", "use one"), skill(tmp_path / "bad", "use nan")
    options = ["--agent", agent, "--trials", "5", "--sequential", "--out", tmp_path / "runs"]

    result = compare(bank, "--skill", good, "--skill", bad, *options)
    again = compare(bank, tmp_path / "runs/good", tmp_path / "runs/bad")

    assert result.exit_code == again.exit_code == 1
    assert "in rounds: a loss is shown, after 1 of at most 5 trials" in result.stdout
    assert len((tmp_path / "runs/bad/answers.jsonl").read_text().splitlines()) == 8
    assert again.stdout.splitlines()[:3] == result.stdout.splitlines()[:3]


def test_the_plan_of_a_comparison_in_rounds_says_what_it_would_ask(bank):
    """For each shape of true rates, beside a plan with one look."""
    result = compare(bank, "--plan", "--sequential", "--trials", "3", "--json")

    found = json.loads(result.stdout)
    assert (result.exit_code, found["looks"], len(found["measured"])) == (0, [1, 2, 3], 4)


def test_sequential_is_refused_for_runs_that_are_stored(bank, tmp_path):
    """Whether they were asked in rounds stands in them."""
    result = compare(bank, tmp_path / "a", tmp_path / "b", "--sequential")

    assert (
        result.exit_code,
        "--sequential, --ablate and --aa are for asking" in result.stderr,
    ) == (
        2,
        True,
    )


@pytest.mark.full
def test_whether_the_skill_was_read_is_told_of_both_arms(bank, agent, tmp_path):
    """Of plain text nothing is known, and without a skill there is nothing to read."""
    good = skill(tmp_path / "good", "use one")
    options = ["--agent", agent, "--trials", "1", "--out", tmp_path / "runs"]

    result = compare(bank, "--skill", "none", "--skill", good, *options)
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "runs/good"), "--json"])

    assert "good: no log tells whether the skill was read" in result.stdout
    assert "none: no log" not in result.stdout
    assert json.loads(shown.stdout.splitlines()[0])["skill_triggered"] == "unknown"


def test_what_compare_wrote_is_reported_and_compared_as_a_whole(bank, agent, tmp_path):
    """The old arm first, whatever the arms are called; how the programs differ stands in the page."""
    good, bad = skill(tmp_path / "good", "use one"), skill(tmp_path / "bad", "use nan")
    runs, page = tmp_path / "runs", tmp_path / "report.html"
    options = ["--agent", agent, "--trials", "1", "--out", runs]
    asked = compare(bank, "--skill", good, "--skill", bad, *options, "--plain")
    again = compare(bank, runs, "--plain")
    command = ["report", str(runs), "-o", str(page), "--bank", str(bank.folder)]

    assert CliRunner().invoke(app, command).exit_code == 0
    assert '<td class="gone"><code>loss = 1.0</code></td>' in page.read_text()
    assert "-loss = 1.0" in asked.stdout
    assert again.stdout == asked.stdout


@pytest.mark.full
def test_a_report_of_three_arms_names_them(bank, agent, tmp_path):
    """Two can be shown side by side."""
    good, bad = skill(tmp_path / "good", "use one"), skill(tmp_path / "bad", "use nan")
    options = ["--agent", agent, "--trials", "1", "--out", tmp_path / "runs"]
    compare(bank, "--skill", "none", "--skill", bad, "--skill", good, *options)
    result = CliRunner().invoke(app, ["report", str(tmp_path / "runs")])

    assert result.exit_code == 2
    assert f"not 3: name two of {tmp_path / 'runs/none'}, {tmp_path / 'runs/bad'}" in result.stderr
