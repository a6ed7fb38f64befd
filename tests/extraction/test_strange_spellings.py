"""Right loops, spelt as people spell them: none is called wrong, and those not yet called right are named."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.extraction.situation import ROOT

FOLDER = ROOT / "tests/material/strange/right"
LABELS = yaml.safe_load((FOLDER / "labels.yaml").read_text())

NOT_YET = {
    "padding-and-accumulation--02.py": "`for *_, mask in window`: how many parts a batch has is not told",
    "padding-and-accumulation--04.py": "vmap shows the model one row at a time",
}
"""Programs that nothing can be told about, and why."""

EXTRA = {
    "conflicting-advice--05.md": "transformers",
    "ddp-accumulation-no-sync--05.md": "accelerate",
}
"""Programs that need a package of an extra; without it nothing can be told."""


def expected(name: str) -> str:
    package = EXTRA.get(name)
    missing = package is not None and importlib.util.find_spec(package) is None
    return "inconclusive" if missing or name in NOT_YET else "right"


def graded(batch: dict[str, str]) -> dict[str, dict]:
    """What `harness grade` says, by file name."""
    files = {str(FOLDER / name): scenario for name, scenario in batch.items()}
    command = [sys.executable, "-m", "harness", "grade", *files, "--map", "/dev/stdin", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, input=json.dumps(files), capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(files), done.stderr
    return {Path(line["file"]).name: line for line in lines}


def test_every_answer_has_a_label_and_every_label_an_answer():
    assert {p.name for p in FOLDER.iterdir()} - {"labels.yaml"} == set(LABELS)


@pytest.mark.full
def test_no_right_loop_is_called_wrong_and_few_cannot_be_told():
    found = graded({name: label["scenario"] for name, label in LABELS.items()})

    wrong = {name: line["why"] for name, line in found.items() if line["code"] == "wrong"}
    assert wrong == {}
    off = {n: line["code"] for n, line in found.items() if line["code"] != expected(n)}
    assert off == {}
