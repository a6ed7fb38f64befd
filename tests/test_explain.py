"""`harness explain`: a verdict as a script that needs torch and nothing of the harness."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens

ROOT = Path(__file__).resolve().parents[1]


def written(scenario: str, file: Path, tmp_path: Path) -> Path:
    script = tmp_path / "script.py"
    command = ["explain", str(file), "--scenario", scenario, "-o", str(script)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    return script


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("all-three-techniques", "consumed norm 1.5"),
        ("ddp-accumulation-no-sync", "rounds of synchronisation 4"),
        ("zero-grad-missing", "consumed norm"),
    ],
)
def test_the_script_reproduces_what_was_judged(tmp_path, scenario, said):
    """Update by update, without importing anything of the harness; that is its exit code."""
    script = written(scenario, ROOT / f"scenarios/{scenario}/buggy.py", tmp_path)

    done = subprocess.run(
        [sys.executable, "-P", "-S", "-c", _ISOLATED, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert "updates consumed what was judged" in done.stderr


_ISOLATED = f"""
import runpy, sys
sys.path += {[p for p in sys.path if "site-packages" in p]!r}
sys.modules["harness"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_an_answer_without_code_has_nothing_to_explain(tmp_path):
    """One sentence, exit code 2."""
    bank = FakeBank(tmp_path).add("alpha")
    file = tmp_path / "a.md"
    file.write_text("I would look at the data first.\n")
    command = ["explain", str(file), "--scenario", "alpha", "--bank", str(bank.folder)]

    result = CliRunner().invoke(app, command, obj=opens(FakeExecutor()))

    assert result.exit_code == 2
    assert result.stderr.endswith("the answer holds no Python block\n")
