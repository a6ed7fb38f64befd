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


@pytest.mark.full
def test_the_check_of_the_action_fails_for_a_faulty_skill_and_writes_a_summary(tmp_path):
    """Its script, run as GitHub runs it."""
    step = next(step for step in ACTION["runs"]["steps"] if step["name"] == "Check")
    summary = tmp_path / "summary.md"
    given = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "AGAINST": "",
        "SKILL": "tests/material/faulty-skill",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        env=os.environ | given,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert "::error file=" in done.stdout
    assert "claim fails" in summary.read_text()
