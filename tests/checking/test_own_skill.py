"""The project's own skill: every block is executed, and every claim holds."""

from tests.checking.conftest import ROOT

SKILL = ROOT / "skill" / "gradient-management"


def test_every_claim_of_our_own_skill_holds(checked):
    report = checked(SKILL)
    assert report.faults == ()
    assert {block.place: block.status for block in report.blocks if block.status != "holds"} == {}
    assert len(report.blocks) > 40


def test_its_format_breaks_no_rule(checked):
    assert [f for f in checked(SKILL).format if f.level != "advice"] == []
    assert checked(SKILL).exit_code == 0
