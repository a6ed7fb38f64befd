"""`harness explain`: a verdict as a script that needs torch and nothing of the harness."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.app import write_file
from harness.domain.errors import UsageError
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens

ROOT = Path(__file__).resolve().parents[1]


def written(scenario: str, file: Path, tmp_path: Path, warm) -> Path:
    script = tmp_path / "script.py"
    command = ["explain", str(file), "--scenario", scenario, "-o", str(script)]
    result = CliRunner().invoke(app, command, obj=warm)
    assert result.exit_code == 0, result.output
    return script


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        pytest.param("all-three-techniques", "consumed norm 1.5", marks=pytest.mark.full),
        pytest.param(
            "ddp-accumulation-no-sync", "rounds of synchronisation 4", marks=pytest.mark.full
        ),
        pytest.param("zero-grad-missing", "consumed norm", marks=pytest.mark.full),
        pytest.param("vanishing-saturated-activations", "16 of 16", marks=pytest.mark.full),
        pytest.param(
            "accelerate-accumulation",
            "update 6",
            marks=[
                pytest.mark.full,
                pytest.mark.skipif(not find_spec("accelerate"), reason="needs accelerate"),
            ],
        ),
    ],
)
def test_the_script_reproduces_what_was_judged(warm, tmp_path, scenario, said):
    """Update by update, without importing anything of the harness; that is its exit code."""
    script = written(scenario, ROOT / f"scenarios/{scenario}/buggy.py", tmp_path, warm)

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


OWN_MODEL = """
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, (x, y) in enumerate(train_loader):
        (nn.functional.mse_loss(model(x), y) / 4).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if (step + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()


main()
"""


@pytest.mark.full
def test_a_model_that_main_builds_is_reproduced_on_data_of_the_width_that_it_asks_for(
    warm, tmp_path
):
    """Rows of 8 numbers were lent, then rows of 20; the script was refused for the model."""
    file, script = tmp_path / "train.py", tmp_path / "script.py"
    file.write_text(OWN_MODEL)
    command = ["explain", str(file), "-o", str(script)]
    result = CliRunner().invoke(app, command, obj=warm)
    assert result.exit_code == 0, result.output

    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert "3 of 3 updates consumed what was judged" in done.stderr


def test_the_script_of_the_readme_is_reproduced_though_its_model_is_its_own(warm, tmp_path):
    """What its optimizer holds is watched, update by update, and the workload's model is not."""
    script = tmp_path / "script.py"
    command = ["explain", str(ROOT / "examples/train.py"), "-o", str(script)]
    assert CliRunner().invoke(app, command, obj=warm).exit_code == 0

    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert "update 1: consumed norm 1\n" in done.stderr
    assert "pydantic" not in (told := " ".join(script.read_text().split()))
    assert "clip-once-per-update: In its first update the micro-batches arrived" in told
    assert "As it stands: The program runs as it is" in told


_ISOLATED = f"""
import runpy, sys
sys.path += {[p for p in sys.path if "site-packages" in p]!r}
sys.modules["harness"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_script_that_cannot_be_written_is_one_sentence(tmp_path):
    """Exit code 2, as for every other file that a command writes."""
    with pytest.raises(UsageError, match=f"^{tmp_path}: cannot be written: Is a directory$"):
        write_file(tmp_path, "import torch")


def test_an_answer_without_code_has_nothing_to_explain(tmp_path):
    """One sentence, exit code 2."""
    bank = FakeBank(tmp_path).add("alpha")
    file = tmp_path / "a.md"
    file.write_text("I would look at the data first.\n")
    command = ["explain", str(file), "--scenario", "alpha", "--bank", str(bank.folder)]

    result = CliRunner().invoke(app, command, obj=opens(FakeExecutor()))

    assert result.exit_code == 2
    assert result.stderr.endswith("the answer holds no Python block\n")


def test_an_answer_that_is_like_no_scenario_is_run_all_the_same(tmp_path):
    """There is nothing to ask back: it has settings of its own."""
    bank = FakeBank(tmp_path).add("alpha")
    file = tmp_path / "a.md"
    file.write_text("```python\nprint(1)\n```\n")
    command = ["explain", str(file), "--bank", str(bank.folder)]

    result = CliRunner().invoke(app, command, obj=opens(FakeExecutor()))

    assert result.exit_code == 2
    assert "there is nothing to reproduce: no line of the program ran" in result.stderr


def test_a_piece_without_training_is_told_that_no_update_was_seen(warm, tmp_path):
    """Not that a script could not supply its model, which would not help."""
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    )

    result = CliRunner().invoke(app, ["explain", str(file)], obj=warm)

    assert result.exit_code == 2
    assert "no update was seen: It holds no training loop: it only defines `Net`" in result.stderr
