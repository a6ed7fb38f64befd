from tests.fakes.traces import match, parameter, probe, trace, update
from tests.properties.verdicts import on

ID = "groups-bounded"
GROUPS = {"head": {"prefix": "head", "bounded_by": 1.0}}


def head_arrives_with(norm):
    parts = [parameter("backbone.0.weight", 0.05, 0.05), parameter("head.weight", 10.0, norm)]
    one = match(true=10.0, consumed=norm, turned=0.1, parameters=parts)
    return trace(probe("loud", update(0, true=10.0, consumed=norm, matches=[one])))


def test_a_head_that_arrives_at_its_bound_passes():
    """With both norms."""
    verdict = on(ID, head_arrives_with(1.0), groups=GROUPS)
    assert verdict.outcome == "pass"
    assert "head arrived with 1 where its true norm was 10" in verdict.sentence


def test_an_unbounded_head_fails():
    """Above its bound."""
    verdict = on(ID, head_arrives_with(10.0), groups=GROUPS)
    assert verdict.outcome == "fail"
    assert "head's gradient" in verdict.sentence
    assert "above its bound of 1: nothing bounded it" in verdict.sentence


def test_a_head_that_is_clipped_too_high_is_not_said_to_be_unclipped():
    """Another threshold was chosen for it."""
    said = on(ID, head_arrives_with(8.0), groups=GROUPS).sentence
    assert "above its bound of 1: what shortened it left more" in said


def test_a_head_that_is_quiet_puts_nothing_to_the_test():
    """Nothing had to be bounded."""
    bound = {"head": {"prefix": "head", "bounded_by": 50.0}}
    assert on(ID, head_arrives_with(10.0), groups=bound).outcome == "inconclusive"


def test_without_groups_it_is_inconclusive():
    """The scenario names none."""
    assert on(ID, head_arrives_with(1.0)).outcome == "inconclusive"
