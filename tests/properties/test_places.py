from harness.domain.verdict import failed, passed
from harness.properties.evidence.figures import number
from harness.properties.judging.places import story_around
from tests.fakes.traces import probe, trace, update

SEEN = trace(probe("loud", update(0), update(1).model_copy(update={"story": ("forward", "step")})))


def test_the_window_that_a_failure_names_is_told():
    """With its place first."""
    verdict = failed("x", "It fails.", number("norm", 3.0, "loud, update 1"))

    assert story_around(SEEN, (verdict,)) == ("loud, update 1:", "forward", "step")


def test_a_failure_without_a_place_has_no_story():
    """Nor has a pass with one."""
    placeless = failed("x", "It fails.", number("norm", 3.0))
    passing = passed("y", "It passes.", number("norm", 3.0, "loud, update 1"))

    assert story_around(SEEN, (placeless, passing)) == ()
