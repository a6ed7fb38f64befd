"""`harness doctor` says what this machine offers."""

import json

import pytest
from typer.testing import CliRunner

from harness.cli import app


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
