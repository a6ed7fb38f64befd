"""Pages in the manner of public skills, labelled by somebody who knew nothing of the checker.

Their first measurements stand in ``docs/checking.md``; what was missed repaired the checker, so that
they only remember now.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from harness.domain.check import BlockResult
from harness.markdown import fenced_blocks
from tests.checking.conftest import ROOT

OUTSIDE = ROOT / "tests/material/outside"
LEAST_FOUND = {"pages": 0.55, "pages-second": 0.6, "pages-third": 0.75, "pages-fourth": 0.55}
"""Which share of the planted faults in training code is found, by set."""

pytestmark = pytest.mark.full


@dataclass(frozen=True)
class Labelled:
    """One Python block, what its writer says of it, and what the check says."""

    label: str
    """true | false | undecidable"""
    trains: bool
    found: BlockResult

    @property
    def is_called_false(self) -> bool:
        return self.found.status in ("fails", "fault") or self.bears_out

    @property
    def bears_out(self) -> bool:
        """Whether it is shown as wrong, and found so."""
        marks = {part.mark.polarity for part in self.found.parts if part.mark is not None}
        return marks == {"wrong"} and self.found.status == "holds"


SETS = [
    "pages",
    pytest.param("pages-second", marks=pytest.mark.every),
    "pages-third",
    "pages-fourth",
]


@pytest.fixture(scope="module", params=SETS)
def labelled(request, checked) -> tuple[str, list[Labelled]]:
    """The name of a set, and every Python block of it."""
    pages = OUTSIDE / request.param
    return request.param, list(_labelled(pages, checked))


def _labelled(pages: Path, checked) -> Iterator[Labelled]:
    blocks = {
        (f"{folder.name}/{block.file}", block.line): block
        for folder in pages.iterdir()
        if folder.is_dir()
        for block in checked(folder).blocks
    }
    for file, line, label, trains in _labels(pages):
        if (file, line) in blocks:
            yield Labelled(label, trains, blocks[file, line])


def _labels(pages: Path) -> Iterator[tuple[str, int, str, bool]]:
    """File, line, label, and whether it is training code; the first set counts its fences instead."""
    labels = yaml.safe_load((pages / "labels.yaml").read_text())
    if isinstance(labels, list):
        for one in labels:
            yield one["file"], one["line"], str(one["label"]).lower(), one["training"] == "yes"
        return
    for name, of_page in labels.items():
        lines = [fence.line for fence in fenced_blocks((pages / name / "SKILL.md").read_text())]
        for one in of_page:
            file, trains = f"{name}/SKILL.md", one["kind"] == "training"
            yield file, lines[one["index"]], str(one["label"]).lower(), trains


def test_hardly_anything_true_is_called_false(labelled):
    _, blocks = labelled
    alarms = sum(b.found.status in ("fails", "fault") for b in blocks if b.label == "true")
    found = sum(b.is_called_false for b in blocks if b.label == "false")
    assert alarms <= 0.1 * (alarms + found)


def test_most_planted_faults_are_called_false(labelled):
    name, blocks = labelled
    planted = [b.is_called_false for b in blocks if b.label == "false" and b.trains]
    assert sum(planted) >= LEAST_FOUND[name] * len(planted)


def test_most_training_code_can_be_run(labelled):
    _, blocks = labelled
    ran = [b.found.executed for b in blocks if b.trains]
    assert len(ran) - sum(ran) <= 0.15 * len(ran)
