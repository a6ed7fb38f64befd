from tests.fakes.traces import learning, probe, trace, update
from tests.properties.verdicts import on

ID = "training-unchanged"


def compared(identical, name="plain", *updates):
    return probe(
        name, *(updates or (update(0),)), learning=learning(parameters_identical=identical)
    )


def test_identical_parameters_pass():
    """Bit for bit."""
    assert on(ID, trace(compared(True))).outcome == "pass"


def test_different_parameters_fail():
    """One bit is enough."""
    assert on(ID, trace(compared(False))).outcome == "fail"


def test_only_the_stable_probe_counts_where_one_is_named():
    """Elsewhere clipping is meant to act."""
    seen = trace(compared(True, "stable"), compared(False, "spiking"))
    assert on(ID, seen, stable_probe="stable").outcome == "pass"


def test_without_a_comparison_or_an_update_it_is_inconclusive():
    """A program that does nothing changes nothing."""
    assert on(ID, trace(compared(None))).outcome == "inconclusive"
    idle = probe("plain", learning=learning(parameters_identical=True))
    assert on(ID, trace(idle)).outcome == "inconclusive"


def test_changed_gradients_of_a_program_with_its_own_optimizer_fail():
    """There is no plain loop to compare its parameters with, so unchanged ones prove nothing."""

    def own(consumed, name="loud"):
        updates = (update(i, true=9.0, consumed=consumed) for i in range(3))
        return probe(name, *updates, learning=learning(own_optimizer=True))

    verdict = on(ID, trace(own(1.0)))
    assert verdict.outcome == "fail"
    assert "norm 1 where backward had computed 9" in verdict.sentence
    assert on(ID, trace(own(9.0))).outcome == "inconclusive"
    seen = trace(own(9.0, "stable"), own(1.0, "spiking"))
    assert on(ID, seen, stable_probe="stable").outcome == "inconclusive"
