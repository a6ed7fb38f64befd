from tests.fakes.traces import micro_batch, probe, trace, update
from tests.properties.verdicts import on

ID = "gradients-start-fresh"


def test_right_windows_after_a_first_one_pass():
    """A right gradient holds nothing of an earlier window."""
    assert on(ID, trace(probe("plain", update(0), update(1)))).outcome == "pass"


def test_an_earlier_window_in_the_gradient_fails():
    """Its weight beside the new one is told."""
    again = update(1, consumed=5.0, turned=0.4, stale=(1.0, 1.0, 1.0, 1.0))
    verdict = on(ID, trace(probe("plain", update(0), again)))
    assert verdict.outcome == "fail"
    assert "update 1" in verdict.sentence
    assert "with 1 times the weight" in verdict.sentence


def test_growing_sizes_with_old_coefficients_fail():
    """On similar data the direction survives and the size grows: 1, 2, 3."""
    grown = [update(i, consumed=3.0 * (i + 1), stale=(1.0,) * 4 if i else ()) for i in range(3)]
    assert on(ID, trace(probe("plain", *grown))).outcome == "fail"


def test_rounding_in_old_coefficients_is_nothing():
    """Coefficients are solved for, and carry its error."""
    near = update(1, turned=0.4, stale=(1e-5, -2e-5))
    assert on(ID, trace(probe("plain", update(0), near))).outcome == "pass"


def test_coefficients_of_a_gradient_that_is_no_sum_are_not_believed():
    """Value clipping leaves something that no combination explains."""
    clamped = update(1, turned=0.4, stale=(0.3,) * 4, unexplained=0.5)
    assert on(ID, trace(probe("plain", update(0), clamped))).outcome != "fail"


def test_what_stood_there_before_the_first_backward_fails_where_nothing_can_be_separated():
    """Clipped unit by unit, a gradient is no sum of micro-batches any more."""
    turned = {"turned": 0.4, "stale": (0.3,) * 4, "unexplained": 0.5}
    assert (
        on(ID, trace(probe("plain", update(0), update(1, **turned, left_over=0.7)))).outcome
        == "fail"
    )
    fresh = trace(probe("plain", update(0), update(1, **turned, left_over=1e-7)))
    assert on(ID, fresh).outcome != "fail"


def test_what_was_cleared_within_the_window_was_not_consumed():
    """Cleared before the last micro-batch: nothing older is left, and three new ones are gone too."""
    late = {"coefficients": (0.0, 0.0, 0.0, 1.0), "stale": (0.0,) * 4, "left_over": 0.8}
    verdict = on(ID, trace(probe("plain", update(0), update(1, turned=0.8, **late))))
    assert verdict.outcome != "fail"


def test_one_update_alone_is_inconclusive():
    """The first update is perfect in every such loop."""
    assert on(ID, trace(probe("plain", update(0)))).outcome == "inconclusive"


def test_one_graph_that_goes_backward_twice_fails_where_both_gradients_arrive():
    """Parts of a loss go backward one by one too; their weights add up to 1."""

    def judged(weight, consumed, backwards=2):
        one = micro_batch(0, weight=weight, backwards=backwards)
        seen = [
            update(i, true=0.1, consumed=consumed, micro_batches=(one,), coefficients=(1.0,))
            for i in range(2)
        ]
        return on(ID, trace(probe("quiet", *seen)))

    assert judged(2.0, 0.2).outcome == "fail"
    assert "2 times over one graph" in judged(2.0, 0.2).sentence
    assert judged(1.0, 0.1).outcome == "pass"
    assert judged(2.0, 0.2, backwards=1).outcome != "fail"


def spiking(first, second, **fields):
    """Updates of one batch each, but for one that has two: the step of a batch was left out."""
    usual = [update(i, coefficients=(1.0,)) for i in range(3)]
    pair = tuple(
        micro_batch(
            9 + i, samples=(2 * i, 2 * i + 1), share=share, after_batch=(0, 3 + i), **fields
        )
        for i, share in enumerate((first, second))
    )
    odd = update(3, coefficients=(1.0, 1.0)).model_copy(update={"micro_batches": pair})
    return trace(probe("loud", *usual, odd))


def test_a_batch_that_was_skipped_and_cleared_is_no_leftover():
    """Nothing of it is consumed; and where windows gather two are no accident."""
    assert on(ID, spiking(1e-7, 1.0), accumulates=False).outcome != "fail"
    assert on(ID, spiking(0.4, 0.8), accumulates=True).outcome != "fail"


def test_a_batch_that_was_skipped_and_not_cleared_fails():
    """A spike stays in the gradients, clipped as it is, and enters the next update."""
    verdict = on(ID, spiking(0.4, 0.8), accumulates=False)
    assert verdict.outcome == "fail"
    assert "its gradients stayed (0.4 of the norm" in verdict.sentence


def test_a_spike_that_was_kept_hides_the_batch_after_it():
    """Beside it nothing is seen of an ordinary gradient."""
    assert on(ID, spiking(1.0, 1e-5), accumulates=False).outcome == "fail"
