import math

from tests.fakes.traces import learning, probe, program, skipped, trace, update
from tests.properties.verdicts import on

ID = "still-learns"


def trained(after, name="plain", **fields):
    return probe(name, update(0), update(1), learning=learning(2.0, after), **fields)


def test_a_loss_that_falls_passes():
    """To half of it."""
    verdict = on(ID, trace(trained(1.0)))
    assert verdict.outcome == "pass"
    assert "from 2 to 1" in verdict.sentence


def test_a_loss_that_stays_or_is_lost_fails():
    """Also when it is NaN."""
    assert on(ID, trace(trained(1.95))).outcome == "fail"
    assert on(ID, trace(trained(math.nan))).outcome == "fail"


def test_the_scenario_says_how_far_it_falls():
    """A short run may not get far."""
    assert on(ID, trace(trained(1.95)), loss_falls_to=0.99).outcome == "pass"


def test_only_the_healthy_probe_counts_where_one_is_named():
    """On the other, nothing is expected to be learned."""
    seen = trace(trained(1.0, "healthy"), trained(2.0, "vanishing"))
    assert on(ID, seen, healthy_probe="healthy", unhealthy_probe="vanishing").outcome == "pass"


def test_a_run_that_raised_is_not_blamed_for_learning_too_little():
    """It was not given the time."""
    stopped = program("raised", exception="KeyError", message="y")
    assert on(ID, trace(trained(2.0, program=stopped))).outcome == "inconclusive"


def test_without_a_measured_loss_it_is_inconclusive():
    """Nothing to compare."""
    assert on(ID, trace(probe("plain", update(0), learning=None))).outcome == "inconclusive"


def of_its_own(after, *updates):
    return trace(probe("plain", *updates, learning=learning(2.0, after, own_optimizer=True)))


def test_a_rate_of_its_own_may_be_too_large_for_our_model_where_gradients_are_true():
    """RMSprop at torch's own default; but nothing excuses a loss that explodes."""
    true = update(0), update(1)
    assert on(ID, of_its_own(8.0, *true)).outcome == "pass"
    assert on(ID, of_its_own(50.0, *true)).outcome == "fail"


def test_an_optimizer_of_its_own_that_never_stepped_shows_neither_harm_nor_learning():
    """A GradScaler skipped every update, so the loss is what it was."""
    assert on(ID, of_its_own(2.0, skipped(0), skipped(1))).outcome == "inconclusive"
    assert on(ID, of_its_own(2.0, skipped(0), update(1))).outcome == "pass"


def test_a_loss_that_grows_by_other_gradients_is_no_matter_of_the_rate():
    """Nor where the parameters do not follow from them."""
    assert on(ID, of_its_own(2.6, update(0), update(1, turned=0.5))).outcome == "fail"
    assert on(ID, of_its_own(2.6, update(0, parameters_followed=False))).outcome == "fail"
