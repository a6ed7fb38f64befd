"""Answers that look right and are wrong: tidy code, true explanations, and one real fault in each.

They were written without a look at what judges them. None may be called right, and each should be
called wrong for the fault that it has. What is only inconclusive, or wrong for another reason, is
listed here by name.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.properties import PROPERTIES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/material/strange/wrong"
LABELS = yaml.safe_load((FOLDER / "labels.yaml").read_text())

# Not called right, and not called wrong either, with what is missing.
INCONCLUSIVE: dict[str, str] = {}

# Called wrong, but not by the property that names the fault.
FOR_ANOTHER_REASON = {
    "all-three-techniques--05.py": "elements cut off before they are unscaled follow no rule that a "
    "property knows; that nothing is learned is seen",
}


def test_every_answer_has_a_label_and_names_a_property():
    assert {p.name for p in FOLDER.iterdir()} == {*LABELS, "labels.yaml"}
    assert {label["property"] for label in LABELS.values()} <= PROPERTIES.keys()
    assert {label["code"] for label in LABELS.values()} == {"wrong"}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict]:
    """What ``harness grade`` says, by file."""
    mapped = {str(FOLDER / name): label["scenario"] for name, label in LABELS.items()}
    command = [sys.executable, "-m", "harness", "grade", *mapped, "--map", "/dev/stdin"]
    done = subprocess.run(
        [*command, "--judge", "none", "--json"],
        cwd=ROOT,
        input=json.dumps(mapped),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, len(lines)) == (1, len(LABELS)), done.stderr
    return {Path(line["file"]).name: line for line in lines}


@pytest.mark.full
def test_no_dressed_fault_is_called_right(verdicts):
    assert {name for name, line in verdicts.items() if line["code"] == "right"} == set()


@pytest.mark.full
def test_every_dressed_fault_is_called_wrong_but_for_those_that_are_listed(verdicts):
    assert {n for n, line in verdicts.items() if line["code"] != "wrong"} == set(INCONCLUSIVE)


@pytest.mark.full
def test_a_dressed_fault_is_wrong_for_the_fault_that_it_has(verdicts):
    other = {n for n, line in verdicts.items() if LABELS[n]["property"] not in line["failed"]}

    assert other - set(INCONCLUSIVE) == set(FOR_ANOTHER_REASON)
