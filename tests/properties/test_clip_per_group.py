from tests.fakes.traces import match, parameter, probe, trace, update
from tests.properties.verdicts import on

ID = "clip-per-group"
GROUPS = {
    "backbone": {"prefix": "backbone", "keeps_at_least": 0.9},
}


def both(backbone, head):
    parts = [parameter("backbone.0.weight", 0.05, backbone), parameter("head.weight", 10.0, head)]
    one = match(true=10.0, consumed=head, turned=0.1, parameters=parts)
    return trace(probe("loud", update(0, true=10.0, consumed=head, matches=[one])))


def test_a_whole_backbone_beside_a_loud_head_passes():
    """With both figures."""
    verdict = on(ID, both(0.05, 1.0), groups=GROUPS)
    assert verdict.outcome == "pass"
    assert "backbone kept at least 1" in verdict.sentence


def test_a_starved_backbone_fails():
    """One factor for both leaves a tenth of it."""
    verdict = on(ID, both(0.005, 1.0), groups=GROUPS)
    assert verdict.outcome == "fail"
    assert "only 0.1 of backbone" in verdict.sentence


def test_parts_of_equal_size_put_nothing_to_the_test():
    """Nothing could have starved it."""
    quiet = [parameter("backbone.0.weight", 0.05, 0.05), parameter("head.weight", 0.05, 0.05)]
    one = match(true=0.07, consumed=0.07, parameters=quiet)
    seen = trace(probe("calm", update(0, true=0.07, consumed=0.07, matches=[one])))
    assert on(ID, seen, groups=GROUPS).outcome == "inconclusive"


def test_without_groups_it_is_inconclusive():
    """The scenario names none."""
    assert on(ID, both(0.05, 1.0)).outcome == "inconclusive"
