"""What was stored can be read, judged anew, reported and compared where torch and every extra are absent."""

import json
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
ABSENT = (
    "torch", "lightning", "pytorch_lightning", "lightning_fabric", "torchmetrics", "accelerate",
    "transformers", "matplotlib", "zstandard",
)  # fmt: skip
BLOCKER = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda n, *p: None if n.partition(".")[0] in {ABSENT!r} else found(n, *p)
from importlib.machinery import PathFinder
on_path = PathFinder.find_spec
PathFinder.find_spec = lambda n, *p: None if n.partition(".")[0] in {ABSENT!r} else on_path(n, *p)
from harness.cli import run_command_line
sys.exit(run_command_line(sys.argv[1:]))
"""


def without(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command line where these packages cannot be imported."""
    command = [sys.executable, "-c", BLOCKER, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def bank(tmp_path_factory) -> FakeBank:
    return FakeBank(tmp_path_factory.mktemp("bank")).add("alpha").add("beta")


@pytest.fixture(scope="module")
def runs(bank, tmp_path_factory) -> list[Path]:
    """Two stored runs: a right answer and a wrong one."""
    folder = tmp_path_factory.mktemp("runs")
    for name, loss in (("right", "1.0"), ("wrong", "float('nan')")):
        answer = folder / f"{name}.md"
        answer.write_text(f"```python\nloss = {loss}\n```\n")
        command = ["grade", str(answer), "--scenario", "alpha", "--bank", str(bank.folder)]
        done = CliRunner().invoke(
            app, [*command, "--out", str(folder / name)], obj=opens(FakeExecutor())
        )
        assert done.exit_code in (0, 1), done.output
    return [folder / "right", folder / "wrong"]


@pytest.mark.full
def test_the_bank_is_listed_and_a_scenario_shown(bank):
    listed, shown = without("list", "--bank", bank.folder), without("show", "clip-after-step")

    assert (listed.returncode, listed.stderr) == (0, "")
    assert (shown.returncode, shown.stderr) == (0, "")


def test_a_stored_run_is_shown_and_judged_anew(bank, runs):
    shown = without("show", runs[0])
    again = without("regrade", runs[1], "--bank", bank.folder, "--json")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert json.loads(again.stdout)["code"] == "wrong"
    assert again.returncode == 1


@pytest.mark.full
def test_a_page_of_two_runs_is_written(runs, tmp_path):
    done = without("report", *runs, "-o", tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text()
    assert done.returncode == 0, done.stderr
    assert 'class="drawing"' in page


@pytest.mark.full
def test_two_stored_runs_are_compared(runs):
    done = without("compare", *runs)

    assert (done.returncode, done.stderr) == (0, "")
    assert "right code: 1 of 1 -> 0 of 1" in done.stdout


def test_a_program_cannot_be_run_and_one_sentence_says_why(tmp_path):
    """Exit code 2: it is the machine's lack, and no verdict."""
    file = tmp_path / "train.py"
    file.write_text("import torch\n")

    done = without("grade", file)

    assert done.returncode == 2
    assert done.stderr.startswith("harness: torch is not installed, and programs run on it")
