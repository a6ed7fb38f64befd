"""`harness doctor` says what this machine offers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app

ROOT = Path(__file__).parents[1]


def doctor(*options):
    return CliRunner().invoke(app, ["doctor", *options])


def test_doctor_says_whether_programs_can_be_run_here(monkeypatch):
    """Every guard of the sandbox by name, and what is missing without a key."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    result = doctor()

    assert result.exit_code == 0
    assert "landlock" in result.stdout
    assert "ANTHROPIC_API_KEY is not set" in result.stdout
    assert result.stdout.rstrip().endswith("Programs can be run here.")


@pytest.mark.full
def test_a_key_is_never_shown(monkeypatch):
    """Only that there is one."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")

    result = doctor("--json")

    offers = {offer["name"]: offer for offer in json.loads(result.stdout)["offers"]}
    assert offers["key"] == {"name": "key", "have": "yes", "detail": "set"}
    assert "sk-secret" not in result.stdout


@pytest.mark.full
def test_doctor_names_another_distribution_that_installs_a_harness(tmp_path, monkeypatch):
    """By what is installed, whichever of the two was imported."""
    about = tmp_path / "harness_other-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: harness-other\nVersion: 1.0\n")
    (about / "top_level.txt").write_text("harness\n")
    monkeypatch.syspath_prepend(tmp_path)
    told = CliRunner().invoke(app, ["doctor", "--json"])
    offers = {one["name"]: one for one in json.loads(told.stdout)["offers"]}

    assert offers["harness"]["have"] == "no"
    assert "harness-other installs a module `harness` too" in offers["harness"]["detail"]


@pytest.mark.full
@pytest.mark.parametrize("ours", [True, False])
def test_doctor_names_another_program_called_harness_that_path_finds_first(
    tmp_path, monkeypatch, ours
):
    """A real script; not the command that the installation writes, wherever that lies."""
    ends = "from harness.__main__ import main\nmain()\n" if ours else "print('CI 3.2')\n"
    (tmp_path / "harness").write_text(f"#!{sys.executable}\n{ends}")
    (tmp_path / "harness").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    told = CliRunner().invoke(app, ["doctor", "--plain"])
    said = (
        f"{tmp_path}/harness is another program: say gradient-skill-harness, or python -m harness"
    )

    assert (said in " ".join(told.stdout.split())) == (not ours)
    assert told.exit_code == 0


def test_a_foreign_harness_in_the_way_is_one_line(tmp_path):
    """Of the command that is ours alone, with exit code 2."""
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("__version__ = '9.9'\n")
    command = [sys.executable, "-m", "gradient_skill_harness", "--version"]
    paths = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    told = {"capture_output": True, "text": True}
    done = subprocess.run(command, env=paths, cwd=tmp_path, check=False, **told)
    ours = subprocess.run(command, cwd=ROOT, check=False, **told)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "is that of another distribution" in done.stderr
    assert (ours.returncode, ours.stdout) == (0, "harness 0.1.0\n")
