from tests.fakes.traces import learning, match, probe, trace, update
from tests.properties.verdicts import on

ID = "training-unchanged"


def compared(identical, name="plain", *updates):
    return probe(
        name, *(updates or (update(0),)), learning=learning(parameters_identical=identical)
    )


def test_training_that_ends_at_the_parameters_of_the_plain_loop_passes():
    """Bit for bit."""
    assert on(ID, trace(compared(True))).outcome == "pass"


def test_training_that_ends_at_other_parameters_fails():
    """One bit is enough."""
    assert on(ID, trace(compared(False))).outcome == "fail"


def test_the_first_gradient_that_differs_is_told():
    """What backward computed and what was consumed of it, not only that training came out another way."""
    clipped = [update(0), update(1, true=9.0, consumed=1.0), update(2, true=9.0, consumed=1.0)]
    said = on(ID, trace(compared(False, "plain", *clipped))).sentence
    assert (
        "In plain, update 1 the optimizer consumed a gradient of norm 1, where backward had computed one of 9"
        in said
    )
    turned = update(0, true=9.0, turned=0.5)
    assert (
        "of norm 9 in another direction (cosine 0.875)"
        in on(ID, trace(compared(False, "plain", turned))).sentence
    )


def test_a_loss_that_was_multiplied_is_told_beside_the_plain_one():
    """Backward computed what was consumed, and another loss than was asked for."""
    given = [match("as-computed", true=9.0), match("sample-mean", true=3.0, consumed=9.0)]
    seen = compared(False, "plain", update(0, matches=given))
    said = on(ID, trace(seen), objectives=("sample-mean",)).sentence
    assert "of norm 9, where the plain loop's loss gives one of 3" in said


def test_an_update_of_nothing_is_told_and_so_is_a_difference_of_rounding():
    """One was cleared; the other is a clip at the gradient's own norm."""
    empty = update(1, consumed=0.0, matches=())
    said = on(ID, trace(compared(False, "plain", update(0), empty))).sentence
    assert "In plain, update 1 the optimizer consumed nothing" in said
    assert "the true one to rounding" in on(ID, trace(compared(False))).sentence


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
