"""Pages in the manner of public skills, labelled by somebody who knew nothing of the checker.

Their first measurement stands in ``docs/checking.md``; what was missed repaired the checker, so that
they only remember now.
"""

import pytest
import yaml

from harness.domain.check import BlockResult
from harness.markdown import fenced_blocks
from tests.checking.conftest import ROOT

PAGES = ROOT / "tests/material/outside/pages"
LABELS = yaml.safe_load((PAGES / "labels.yaml").read_text())

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def labelled(checked) -> list[tuple[dict[str, str], BlockResult]]:
    """Every Python block with its label."""
    found = []
    for name, labels in LABELS.items():
        fences = fenced_blocks((PAGES / name / "SKILL.md").read_text())
        lines = [fence.line for fence in fences]
        blocks = {block.line: block for block in checked(PAGES / name).blocks}
        found += [(one, blocks[n]) for one in labels if (n := lines[one["index"]]) in blocks]
    return found


def called(labelled, label: str) -> list[bool]:
    """For each block with this label whether it is called false."""
    return [b.status in ("fails", "fault") for one, b in labelled if str(one["label"]) == label]


def test_hardly_anything_true_is_called_false(labelled):
    alarms = sum(called(labelled, "true"))
    assert alarms <= 0.1 * (alarms + sum(called(labelled, "false")))


def test_most_planted_faults_are_called_false(labelled):
    planted = called(labelled, "false")
    assert sum(planted) >= 0.55 * len(planted)


def test_most_training_code_can_be_run(labelled):
    ran = [b.executed for one, b in labelled if one["kind"] == "training"]
    assert len(ran) - sum(ran) <= 0.15 * len(ran)
