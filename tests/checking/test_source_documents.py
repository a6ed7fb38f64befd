"""The two documents that this project started from, where they lie beside it, held against their labels.

``tests/material/blocks.yaml`` was labelled by hand, apart from the check.
"""

from pathlib import Path

import pytest
import yaml

from harness.domain.check import BlockResult, CheckReport
from tests.checking.conftest import ROOT

SEEDS = ROOT.parent / "shared" / "seeds"
LABELS = {
    (label["file"], label["block"] + 1): label
    for label in yaml.safe_load((ROOT / "tests/material/blocks.yaml").read_text())
}
FAILS = {
    "gradient_management_SKILL.md": {16, 25, 42, 43, 50, 51, 54, 56, 57, 84},
    "gradient_stabilization_guide.md": {8, 17, 20},
}
"""Blocks by position whose claim does not survive."""
TOLD = {
    "gradient_management_SKILL.md": {11, 40},
    "gradient_stabilization_guide.md": {4, 13, 14},
}
"""Blocks that claim nothing and have a fault, or a fault beside their claim."""

pytestmark = pytest.mark.skipif(
    not SEEDS.is_dir(), reason="the source documents are not beside the project"
)


@pytest.fixture(params=sorted(FAILS))
def report(request, checked) -> CheckReport:
    return checked(SEEDS / request.param)


def truth(report: CheckReport, block: BlockResult) -> str:
    return LABELS[Path(report.skill).name, block.position]["truth"]


def test_exactly_these_claims_fail(report):
    failing = {block.position for block in report.blocks if block.status == "fails"}
    assert failing == FAILS[Path(report.skill).name]


def test_no_block_that_is_right_is_called_failing(report):
    assert {truth(report, b) for b in report.blocks if b.status == "fails"} == {"wrong"}


def test_faults_of_blocks_that_claim_nothing_are_told(report):
    told = {b.position for b in report.blocks for p in b.parts for o in p.observations if o.fault}
    assert told >= TOLD[Path(report.skill).name]


def test_more_than_85_percent_of_the_blocks_are_executed_and_the_rest_holds_no_code(report):
    idle = [block for block in report.blocks if not block.executed]
    assert len(idle) < 0.15 * len(report.blocks)
    assert {block.status for block in idle} <= {"pseudo-code"}
