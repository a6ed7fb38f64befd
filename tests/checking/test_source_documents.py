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
    "gradient_management_SKILL.md": {42, 43, 51, 56, 57},
    "gradient_stabilization_guide.md": {4, 8, 13},
}
"""Blocks by position whose claim does not survive, or that have a fault."""
TOLD = {
    "gradient_management_SKILL.md": {16, 40},
    "gradient_stabilization_guide.md": set[int](),
}
"""Blocks that claim nothing and have a fault, or a fault beside their claim."""

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        not SEEDS.is_dir(), reason="the source documents are not beside the project"
    ),
]


@pytest.fixture(params=sorted(FAILS))
def report(request, checked) -> CheckReport:
    return checked(SEEDS / request.param)


def truth(report: CheckReport, block: BlockResult) -> str:
    return LABELS[Path(report.skill).name, block.position]["truth"]


def test_exactly_these_claims_fail(report):
    failing = {b.position for b in report.blocks if b.status in ("fails", "fault")}
    wanted = FAILS[Path(report.skill).name]
    differing = {
        b.position: [(part.status, part.sentence) for part in b.parts]
        for b in report.blocks
        if b.position in failing ^ wanted
    }
    assert (report.faults, failing) == ((), wanted), differing


def test_no_block_that_is_right_is_called_failing(report):
    found = {truth(report, b) for b in report.blocks if b.status in ("fails", "fault")}
    assert "right" not in found


def test_faults_of_blocks_that_claim_nothing_are_told(report):
    told = {b.position for b in report.blocks for p in b.parts for o in p.observations if o.fault}
    assert told >= TOLD[Path(report.skill).name]


def test_three_quarters_of_the_blocks_are_executed(report):
    idle = [block for block in report.blocks if block.status == "cannot-be-run"]
    assert len(idle) <= 0.25 * len(report.blocks)
