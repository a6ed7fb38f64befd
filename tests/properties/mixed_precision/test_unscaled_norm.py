from tests.fakes.traces import norms, probe, trace, update
from tests.properties.verdicts import on

ID = "unscaled-norm"
S = 65536.0


def scaled(consumed, low=10.0, name="loud"):
    return probe(
        name, *(update(i, true=n, consumed=consumed(n), scale=S) for i, n in enumerate(norms(low)))
    )


def test_true_norms_at_the_threshold_pass():
    """Under a loss scale of 65536."""
    verdict = on(ID, trace(scaled(lambda n: 1.0)))
    assert verdict.outcome == "pass"
    assert "65536" in verdict.sentence


def test_threshold_over_scale_in_every_window_fails():
    """Clipped while still scaled."""
    verdict = on(ID, trace(scaled(lambda n: 1 / S), scaled(lambda n: 1 / S, 0.1, "quiet")))
    assert verdict.outcome == "fail"
    assert "1.53e-05" in verdict.sentence
    assert "8 of 8" in verdict.sentence


def test_threshold_over_scale_fails_at_any_threshold_where_none_was_named():
    """The product with the scale is constant."""
    assert on(ID, trace(scaled(lambda n: 0.7 / S)), max_norm=None).outcome == "fail"


def test_one_over_the_scale_fails():
    """Unscaled twice."""
    verdict = on(ID, trace(scaled(lambda n: n / S, 0.1)))
    assert verdict.outcome == "fail"
    assert "taken out twice" in verdict.sentence


def test_without_a_loss_scale_it_is_inconclusive():
    """A disabled scaler hides the whole protocol."""
    plain = probe("loud", update(0, true=10, consumed=1.0))
    assert on(ID, trace(plain)).outcome == "inconclusive"


def with_tail(consumed):
    """Full windows of 4 that are right, and a short last one."""
    tail = update(4, coefficients=(1.0, 1.0), short=True, consumed=consumed, scale=S)
    full = (update(i, true=n, consumed=1.0, scale=S) for i, n in enumerate(norms(10)))
    return trace(probe("loud", *full, tail))


def test_a_short_last_window_that_was_clipped_while_scaled_fails():
    """The code after the loop was written anew, without unscale_."""
    verdict = on(ID, with_tail(1.0 / S))
    assert verdict.outcome == "fail"
    assert "short last window" in verdict.sentence


def test_a_short_last_window_that_was_clipped_or_divided_by_four_passes():
    """Either is lawful."""
    assert on(ID, with_tail(1.0)).outcome == "pass"
    assert on(ID, with_tail(0.5)).outcome == "pass"


def after_an_overflow(weight, consumed=1.0, scale=S / 2):
    """Four windows at one scale, then four at another one whose micro-batches weigh ``weight``."""
    made = [update(i, true=n, consumed=1.0, scale=S) for i, n in enumerate(norms(10.0))]
    for i, n in enumerate(norms(12.0), start=4):
        late = update(i, true=n, consumed=consumed, scale=scale)
        window = tuple(m.model_copy(update={"weight": weight}) for m in late.micro_batches)
        made.append(late.model_copy(update={"micro_batches": window}))
    return on(ID, trace(probe("loud", *made)))


def test_a_loss_that_keeps_the_factor_of_an_earlier_scale_fails_beside_a_clip():
    """A constant where the scale fell. Other weights, or unknown ones, say nothing about a scale."""
    verdict = after_an_overflow(0.5)
    assert verdict.outcome == "fail"
    assert "multiplied by 65536, the loss scale of loud, update 0" in verdict.sentence
    assert after_an_overflow(0.25).outcome == "pass"
    assert after_an_overflow(1.0).outcome == "pass"
    assert after_an_overflow(None).outcome == "pass"
    assert after_an_overflow(0.25, scale=S).outcome == "pass"
