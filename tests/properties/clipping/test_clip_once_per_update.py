from tests.fakes.traces import micro_batch, norms, probe, quiet_and_loud, trace, update
from tests.properties.verdicts import on

ID = "clip-once-per-update"
QUIET = probe("quiet", *(update(i, true=n) for i, n in enumerate(norms(0.1))))


def test_one_factor_for_the_whole_window_passes():
    """At the threshold."""
    assert on(ID, quiet_and_loud()).outcome == "pass"


def test_later_micro_batches_that_dominate_fail_even_at_the_right_norm():
    """A look at the norm alone accepts this."""
    each = update(0, true=10, consumed=1.0, turned=0.9, coefficients=(0.001, 0.005, 0.02, 0.1))
    verdict = on(ID, trace(QUIET, probe("loud", each)))
    assert verdict.outcome == "fail"
    assert "0.01, 0.05, 0.2, 1" in verdict.sentence


def test_shares_that_differ_by_rank_are_another_fault():
    """One rank has a spike, and clips it by itself: what the coefficients lack is no clip each."""

    def judged(*shares):
        flows = [micro_batch(i, rank=0, coefficient=c) for i, c in enumerate(shares)]
        flows += [micro_batch(i, rank=1, coefficient=1e-5) for i in range(4)]
        apart = update(0, true=10, consumed=1.0, turned=0.9).model_copy(
            update={"micro_batches": tuple(flows)}
        )
        return on(ID, trace(QUIET, probe("loud", apart)))

    assert judged(0.1, 0.1, 0.0999, 0.1).outcome == "inconclusive"
    assert judged(0.01, 0.05, 0.08, 0.1).outcome == "fail"


def test_uneven_shares_in_quiet_windows_too_are_another_fault():
    """Then clipping is not why."""
    uneven = {"turned": 0.9, "coefficients": (0.1, 0.5, 0.7, 1.0)}
    quiet = probe("quiet", update(0, true=0.1, **uneven))
    seen = trace(quiet, probe("loud", update(0, true=10, consumed=1.0, **uneven)))
    assert on(ID, seen).outcome == "inconclusive"


def test_a_quiet_window_that_was_loud_before_it_was_whole_is_uneven_by_clipping_too():
    """Micro-batches point apart: each alone is above the threshold, their sum below it."""
    uneven = {"turned": 0.9, "coefficients": (0.1, 0.5, 0.7, 1.0)}

    def judged(returned):
        calls = ("clip_grad_norm_(4 gradients) at 1.0 returned " + returned,)
        quiet = probe("quiet", update(0, true=0.1, **uneven, clip_calls=calls))
        loud = update(0, true=10, consumed=1.0, **uneven)
        return on(ID, trace(quiet, probe("loud", loud))).outcome

    assert judged("3.0") == "fail"
    assert judged("0.5") == "inconclusive"


def test_the_factor_applied_twice_fails():
    """Threshold squared over the true norm."""
    twice = (update(i, true=n, consumed=1.0 / n) for i, n in enumerate(norms(10)))
    verdict = on(ID, trace(QUIET, probe("loud", *twice)))
    assert verdict.outcome == "fail"
    assert "applied twice" in verdict.sentence


def test_without_a_clipped_loud_window_it_is_inconclusive():
    """How often cannot be told."""
    assert on(ID, trace(QUIET)).outcome == "inconclusive"
    assert on(ID, trace(probe("loud", update(0, true=10)))).outcome == "inconclusive"


def test_threshold_squared_over_norm_is_not_said_to_come_of_two_clips_alone():
    """A norm whose root was never taken leaves the same."""
    twice = [update(i, true=n, consumed=1.0 / n) for i, n in enumerate(norms(9))]
    said = on(ID, trace(probe("loud", *twice))).sentence
    assert "applied twice, or with the square of the norm" in said
