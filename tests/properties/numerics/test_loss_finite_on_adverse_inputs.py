import math

from tests.fakes.traces import backward, match, probe, rank, trace, update
from tests.properties.verdicts import on

ID = "loss-finite-on-adverse-inputs"
WHERE = {"adverse_probe": "adverse"}


def adverse(**fields):
    return probe("adverse", ranks=[rank([update(0), update(1)], **fields)])


def test_finite_values_gradients_and_parameters_pass():
    """The largest loss is told."""
    verdict = on(ID, trace(adverse()), **WHERE)
    assert verdict.outcome == "pass"
    assert "0.5" in verdict.sentence


def test_a_loss_that_is_nan_there_fails():
    """Its value is the evidence."""
    verdict = on(ID, trace(adverse(backwards=(backward(0.5), backward(math.nan)))), **WHERE)
    assert verdict.outcome == "fail"
    assert "backward 2" in verdict.sentence


def test_a_finite_loss_with_an_infinite_gradient_fails():
    """As in the square root at 0."""
    verdict = on(ID, trace(adverse(backwards=(backward(0.0, finite=False),))), **WHERE)
    assert verdict.outcome == "fail"
    assert "its gradient is not" in verdict.sentence


def test_batches_that_vanish_only_there_fail():
    """Skipping what is not finite hides it."""
    seen = trace(probe("quiet", update(0)), adverse(batches_lost=3))
    verdict = on(ID, seen, **WHERE)
    assert verdict.outcome == "fail"
    assert "3 batches never" in verdict.sentence


def test_a_loop_that_loses_batches_everywhere_is_not_hiding_them():
    """That is another fault."""
    lossy = probe("quiet", ranks=[rank([update(0)], batches_lost=1)])
    assert on(ID, trace(lossy, adverse(batches_lost=3)), **WHERE).outcome == "pass"


def test_a_gradient_of_exactly_zero_fails():
    """That is what nan_to_num leaves of a NaN loss."""
    silent = update(0, consumed=0.0, matches=[match("as-computed", true=0.0, consumed=0.0)])
    verdict = on(ID, trace(probe("adverse", silent)), **WHERE)
    assert verdict.outcome == "fail"
    assert "exactly 0" in verdict.sentence


def test_without_such_a_probe_or_updates_it_is_inconclusive():
    """Nothing adverse was tried."""
    assert on(ID, trace(probe("plain", update(0)))).outcome == "inconclusive"
    assert on(ID, trace(probe("adverse")), **WHERE).outcome == "inconclusive"
