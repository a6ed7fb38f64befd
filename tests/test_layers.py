"""The import contracts of pyproject.toml accept the layout, and refuse each arrow that is wrong."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]

# One line for each arrow that must not be there: file, import, contract that has to break.
WRONG_ARROWS = [
    ("domain/wrong.py", "harness.store", "Imports point one way"),
    ("report/wrong.py", "harness.oracle", "Imports point one way"),
    ("utils.py", "harness.domain", "Imports point one way"),
    ("cli.py", "torch", "Only sandbox, oracle and workloads know torch"),
    ("properties/clipping/wrong.py", "harness.properties.ranks", "A family of properties"),
    ("sandbox/batches/wrong.py", "harness.sandbox.recorder", "Packages of the sandbox"),
    ("properties/own/wrong.py", "random", "Pure layers touch no process"),
    ("comparison/wrong.py", "subprocess", "Pure layers touch no process"),
    ("quality/wrong.py", "harness.sandbox.recorder", "Only the sandbox attaches probes"),
    ("oracle/wrong.py", "harness.sandbox", "Who runs a candidate and who knows the truth"),
]


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """A package with the layers of the real one, nothing in them, under the real contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    folders = [
        "",
        "sandbox/batches",
        "sandbox/recorder",
        "quality",
        "properties/clipping",
        "properties/own",
        "properties/ranks",
    ]
    folders += ["domain", "properties", "comparison", "store", "report", "oracle", "sandbox"]
    for folder in folders:
        (tmp_path / "harness" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "harness" / folder / "__init__.py").touch()
    (tmp_path / "harness/sandbox/worker.py").write_text("import torch.nn, harness.sandbox.recorder")
    return tmp_path


def broken_contracts(skeleton: Path) -> list[str]:
    answer = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=skeleton,
        env=os.environ | {"PYTHONPATH": str(skeleton), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )

    assert "Contracts: " in answer.stdout, answer.stdout + answer.stderr
    return re.findall(r"^(.*) BROKEN", answer.stdout, re.MULTILINE)


def test_import_contracts_accept_the_layout(skeleton: Path) -> None:
    """Torch in the sandbox and the sandbox's use of its own probes are lawful."""
    assert broken_contracts(skeleton) == []


@pytest.mark.parametrize(("file", "imported", "contract"), WRONG_ARROWS)
def test_import_contracts_refuse(skeleton: Path, file: str, imported: str, contract: str) -> None:
    """Each contract is seen broken by an import that it is there to refuse."""
    (skeleton / "harness" / file).write_text(f"import {imported}\n")

    assert [name for name in broken_contracts(skeleton) if name.startswith(contract)]
