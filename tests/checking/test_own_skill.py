"""The project's own skill: every block is executed, and every claim holds."""

import pytest

from harness.checking.folder import load_skill
from harness.checking.format import check_format
from tests.checking.conftest import ROOT

SKILL = ROOT / "skill" / "gradient-management"


@pytest.mark.full
def test_every_claim_of_its_page_holds(checked):
    report = checked(SKILL / "SKILL.md")

    assert report.faults == ()
    assert [block.place for block in report.blocks if block.status != "holds"] == []


@pytest.mark.full
def test_no_claim_of_our_own_skill_is_refuted(checked):
    report = checked(SKILL)
    assert report.faults == ()
    other = {block.place: block.status for block in report.blocks if block.status != "holds"}
    assert other == {}
    assert len(report.blocks) > 40
    assert report.exit_code == 0


def test_the_projects_own_skill_breaks_no_rule_of_the_format():
    assert [f for f in check_format(load_skill(SKILL)) if f.level != "advice"] == []
