"""The labelled answers: where they lie, what each of them is about, and how it is to be judged.

``tests/material/corpora/manifest.csv`` has a row for every answer; ``README.md`` beside it says where
each set comes from. Two sets more come with the bank: of each scenario an ideal answer and one that
talks itself out of the fix.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.bank import BANK

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/material/corpora"

SCENARIOS = {s.id: s for s in BANK.scenarios}

IDEAL, RATIONALIZING = "ideal", "rationalizing"

WITH_CRITERIA = ("dev", "seen", "unseen", "fresh")
"""Sets with a ``labels.yaml`` of their own, which says of each criterion whether it is met."""


@dataclass(frozen=True)
class Answer:
    """One row."""

    set: str
    path: Path
    scenario: str
    label: str
    """What a careful reader says of its code: right, wrong, inconclusive, or none (no code)."""
    expected: str
    """What the judge is known to say instead of the label, or nothing."""
    reason: str
    """Why it says so."""
    fails: str
    """The property that has to be among those that fail, or nothing."""

    @property
    def name(self) -> str:
        ours = self.set in (IDEAL, RATIONALIZING)
        return f"{self.set}/{self.scenario if ours else self.path.name}"

    @property
    def file(self) -> str:
        return str(self.path.relative_to(ROOT))


def _listed() -> list[Answer]:
    with (FOLDER / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return [
            Answer(
                set=row["set"],
                path=FOLDER / row["set"] / row["file"],
                scenario=row["scenario"],
                label=row["label"],
                expected=row["expected"],
                reason=row["reason"],
                fails=row["property"],
            )
            for row in csv.DictReader(file)
        ]


def _of_the_bank(which: str, label: str) -> list[Answer]:
    paths = sorted(ROOT.glob(f"scenarios/*/answers/{which}.md"))
    scenarios = [path.parent.parent.name for path in paths]
    return [Answer(which, *x, label, "", "", "") for x in zip(paths, scenarios, strict=True)]


LISTED = _listed()
EXTREMES = [*_of_the_bank(IDEAL, "right"), *_of_the_bank(RATIONALIZING, "wrong")]
ANSWERS = [*LISTED, *EXTREMES]
SETS = {
    name: [a for a in ANSWERS if a.set == name] for name in dict.fromkeys(a.set for a in ANSWERS)
}


@cache
def criteria_of(name: str) -> dict[str, dict[str, Any]]:
    """The labels of a set's criteria, by file."""
    text = (FOLDER / name / "labels.yaml").read_text(encoding="utf-8")
    return yaml.load(text, yaml.CSafeLoader)
