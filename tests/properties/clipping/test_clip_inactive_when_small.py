from tests.fakes.traces import norms, probe, quiet_and_loud, trace, update
from tests.properties.verdicts import on

ID = "clip-inactive-when-small"


def quiet(consumed=None, name="quiet", low=0.1):
    return trace(
        probe(name, *(update(i, true=n, consumed=consumed) for i, n in enumerate(norms(low))))
    )


def test_untouched_quiet_windows_pass():
    """Up to the largest of them."""
    verdict = on(ID, quiet_and_loud())
    assert verdict.outcome == "pass"
    assert "0.19" in verdict.sentence


def test_quiet_windows_at_a_common_smaller_norm_fail():
    """The threshold is always exceeded."""
    verdict = on(ID, quiet(consumed=0.01))
    assert verdict.outcome == "fail"
    assert "clipped to 0.01, and so in 4 of 4" in verdict.sentence


def test_quiet_windows_scaled_up_to_a_common_norm_fail():
    """Normalising is not clipping."""
    verdict = on(ID, quiet(consumed=1.0))
    assert verdict.outcome == "fail"
    assert "normalised" in verdict.sentence


def test_windows_raised_to_the_threshold_of_their_own_clip_fail():
    """Wherever it is, and however it moves: no clip makes more of a gradient."""

    def judged(true, limits=(3.0, 3.4, 2.9, 3.1), **fields):
        windows = [
            update(
                i,
                true=n,
                consumed=limit,
                clip_calls=(f"clip_grad_norm_(6 gradients) at {limit} returned {n}",),
                **fields,
            )
            for i, (n, limit) in enumerate(zip(norms(true), limits, strict=True))
        ]
        return on(ID, trace(probe("loud", *windows)))

    assert judged(1.2).outcome == "fail"
    assert "normalised" in judged(1.2).sentence
    assert judged(6.0).outcome == "inconclusive"


def test_every_window_of_the_stable_probe_below_the_threshold_counts():
    """Also those near it."""
    seen = quiet(name="stable", low=0.52)
    assert on(ID, seen, stable_probe="stable").outcome == "pass"
    assert on(ID, seen).outcome == "inconclusive"


def test_a_constant_factor_is_another_fault():
    """Divided twice is not clipped."""
    small = (update(i, true=n, consumed=n / 4) for i, n in enumerate(norms(0.1)))
    assert on(ID, trace(probe("quiet", *small))).outcome == "inconclusive"


def test_loud_windows_alone_are_inconclusive():
    """There clipping must act."""
    assert on(ID, quiet(consumed=1.0, low=10.0)).outcome == "inconclusive"


def test_a_clip_whose_threshold_moves_below_ordinary_norms_fails():
    """It leaves no common norm, but it was called and took something. Nothing called it: unknown."""
    calls = ("clip_grad_norm_(6 gradients) returned 0.2",)

    def judged(**fields):
        left = (0.6, 0.45, 0.7, 0.5)
        small = [
            update(i, true=n, consumed=n * part, **fields)
            for i, (n, part) in enumerate(zip(norms(0.1), left, strict=True))
        ]
        return on(ID, trace(probe("quiet", *small))).outcome

    assert judged(clip_calls=calls) == "fail"
    assert judged() == "inconclusive"
    assert judged(clip_calls=("get_total_norm(6 gradients) returned 0.2",)) == "inconclusive"
