"""What other tools read: the action, the hook, and the recipes of docs/ci.md."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def recipes(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_workflow_of_the_page_gives_inputs_that_the_action_has():
    """A misspelt input is ignored by GitHub, with a warning that nobody reads."""
    workflow = next(yaml.safe_load(text) for text in recipes("yaml") if "jobs:" in text)
    used = next(s["with"] for s in workflow["jobs"]["check"]["steps"] if "harness" in s["uses"])

    assert set(used) <= set(ACTION["inputs"])
    assert {name for name, rule in ACTION["inputs"].items() if rule.get("required")} <= set(used)


def test_the_hook_of_the_page_is_one_that_there_is():
    """By its id."""
    config = next(yaml.safe_load(text) for text in recipes("yaml") if "repos:" in text)

    used = {hook["id"] for repo in config["repos"] for hook in repo["hooks"]}
    assert used <= {hook["id"] for hook in HOOKS}


def test_an_action_passes_no_input_into_a_script_as_text():
    """``${{ inputs.x }}`` inside of ``run`` would let an input be a command."""
    assert [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step["run"]] == []


@pytest.mark.parametrize("step", ACTION["runs"]["steps"], ids=lambda step: step["name"])
def test_every_step_of_the_action_is_a_script_that_bash_reads(step):
    """Parsed by bash itself."""
    done = subprocess.run(["bash", "-n"], input=step["run"], text=True, check=False)

    assert done.returncode == 0


def options_used() -> list[str]:
    """Every command of the action that calls the harness, with its options."""
    text = "\n".join(step["run"] for step in ACTION["runs"]["steps"]).replace("\\\n", " ")
    return re.findall(r"python -m harness (.*?)(?: \|\||\s\||$)", text, re.MULTILINE)


@pytest.mark.parametrize("command", options_used())
def test_the_action_gives_options_that_the_command_has(command):
    """As its help lists them."""
    name, *words = shlex.split(command)
    page = subprocess.run(
        [sys.executable, "-m", "harness", name, "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout

    assert [word for word in words if word.startswith("--") and word not in page] == []


@pytest.mark.full
def test_the_assertion_of_the_page_tells_promptfoo_what_was_found():
    """A boolean, a number and a text, as it asks of a function of that name."""
    scope = {}
    exec(next(text for text in recipes("python") if "get_assert" in text), scope)
    right = (ROOT / "reference_impls/zero-grad-missing.py").read_text()
    with scope["GRADER"]:
        found = scope["get_assert"](
            f"```python\n{right}```", {"vars": {"scenario": "zero-grad-missing"}}
        )

    assert found == {"pass": True, "score": 1.0, "reason": "right: "}


def test_the_page_tells_an_evaluator_the_keys_that_a_line_has(graded):
    """Those that it names in its recipe for scripts."""
    code, (line,) = graded(ROOT / "examples/train.py")
    told = re.search(r"The line has (.*?) and the verdicts", PAGE).group(1)

    assert code == 1
    assert set(re.findall(r"`(\w+)`", told)) <= set(line)
    assert line["failed"]


def step(name: str, cwd: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """A step as GitHub runs it, with the harness of these tests as `python`."""
    script = next(step["run"] for step in ACTION["runs"]["steps"] if step["name"] == name)
    env = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        env=os.environ | env | given,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path):
    """With one skill, committed."""
    skill = tmp_path / "skills" / "old" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("as it was")
    who = ["-c", "user.email=a@example.org", "-c", "user.name=a"]
    for words in (["init", "-q"], ["add", "skills"], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    skill.write_text("as it is")
    return tmp_path


@pytest.mark.parametrize(
    ("against", "skill", "code", "said"),
    [
        ("HEAD", "skills/old", 0, ""),
        ("HEAD", "skills/new", 0, "::notice::skills/new is new"),
        ("origin/gone", "skills/old", 2, "::error::against: no revision origin/gone"),
    ],
)
def test_the_older_skill_is_taken_from_its_revision_or_it_is_said_why_not(
    repository, against, skill, code, said
):
    """A skill that a pull request adds is no error; a revision that was not fetched is one."""
    given = {"RUNNER_TEMP": str(repository / "temp"), "AGAINST": against, "SKILL": skill}
    done = step("The skill as it was", repository, **given)
    old = repository / "temp" / "old" / "skills" / "old" / "SKILL.md"

    assert (done.returncode, done.stdout.startswith(said)) == (code, True)
    assert (old.read_text() if old.exists() else None) == (None if said else "as it was")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_comparison_of_the_action_fails_as_the_command_does_and_is_quoted_whole(tmp_path, code):
    """What stands for the harness says its arguments. A new skill is compared with none."""
    stand_in = tmp_path / "python"
    stand_in.write_text(f'#!/bin/sh\necho "$@"\nexit {code}\n')
    stand_in.chmod(0o755)
    summary = tmp_path / "summary.md"
    told = {"AGENT": "anthropic:m", "COST": "5", "SKILL": "skills/new", "TRIALS": "3"}
    told |= {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(summary)}
    done = step("Compare", tmp_path, **told, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert done.returncode == code
    assert done.stdout.startswith("-m harness compare --skill none --skill skills/new --agent")
    assert summary.read_text() == f"```\n{done.stdout}```\n"


@pytest.mark.full
def test_the_check_of_the_action_fails_for_a_faulty_skill_and_writes_a_summary(tmp_path):
    """Its script, run as GitHub runs it."""
    summary, sarif = tmp_path / "summary.md", tmp_path / "skill.sarif"
    given = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(summary)}
    done = step("Check", ROOT, SKILL="tests/material/faulty-skill", SARIF=str(sarif), **given)

    assert done.returncode == 1, done.stderr
    assert "::error file=" in done.stdout
    assert "claim fails" in summary.read_text()
    assert "faulty-skill/SKILL.md" in sarif.read_text()
