import pytest

from tests.fakes.traces import match, micro_batch, norms, parameter, probe, rank, trace, update
from tests.properties.verdicts import on

ID = "accumulation-equals-large-batch"


def off(factor, **fields):
    return [
        update(i, true=n, matches=[match(true=n, consumed=factor * n)], **fields)
        for i, n in enumerate(norms(0.05))
    ]


def test_the_gradient_of_the_large_batch_passes():
    """Below the threshold, where no factor hides."""
    verdict = on(ID, trace(probe("quiet", *(update(i, true=n) for i, n in enumerate(norms(0.1))))))
    assert verdict.outcome == "pass"
    assert "4 full windows of 4" in verdict.sentence


@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (4.0, "divide each loss by the 4"),
        (0.25, "divided by 4 twice"),
        (1.7, "divisor is not the 4"),
    ],
)
def test_a_constant_factor_fails_and_is_named(factor, says):
    """N, 1/N and anything else."""
    verdict = on(ID, trace(probe("quiet", *off(factor))))
    assert verdict.outcome == "fail"
    assert says in verdict.sentence
    assert f"consumed {factor:.3g} times" in verdict.sentence


def test_a_gradient_that_is_brought_to_the_threshold_is_named_for_that():
    """No divisor makes small gradients as large as a clip leaves large ones."""
    said = on(ID, trace(probe("quiet", *off(20.0, clip_calls=())))).sentence
    same = [update(i, true=0.2, matches=[match(true=0.2, consumed=1.0)]) for i in range(2)]

    assert "divisor is not the 4" in said
    assert "brought to the threshold's norm" in on(ID, trace(probe("quiet", *same))).sentence


def test_a_loss_that_is_too_large_fails_though_a_clip_took_some_of_it():
    """Each window is left at the threshold, at another multiple of its true gradient."""
    clip = ("clip_grad_norm_(6 gradients) returned 2.8",)
    grown = [
        update(
            i,
            true=n,
            matches=[
                match("micro-batch-mean", true=n, consumed=1.0),
                match("as-computed", true=12.0 * n, consumed=1.0),
            ],
            clip_calls=clip,
        )
        for i, n in enumerate((0.21, 0.24, 0.3))
    ]
    assert on(ID, trace(probe("quiet", *grown))).outcome == "fail"


def test_the_number_of_ranks_as_a_factor_is_named():
    """A sum over ranks instead of a mean."""
    seen = trace(probe("quiet", ranks=[rank(off(2.0), 0), rank(off(2.0), 1)]))
    assert "summed over 2 ranks" in on(ID, seen).sentence


def test_wrong_weights_fail_where_everything_arrived():
    """The way from backward to step is exact; the loss is not."""
    skewed = update(0, matches=[match("as-computed"), match("micro-batch-mean", turned=0.12)])
    verdict = on(ID, trace(probe("quiet", skewed)), max_norm=None)
    assert verdict.outcome == "fail"
    assert "weighs them wrongly" in verdict.sentence


def test_either_objective_is_right_but_not_both_in_turn():
    """An answer realises one throughout."""
    one = update(0, matches=[match("sample-mean"), match("micro-batch-mean", turned=0.1)])
    other = update(1, matches=[match("sample-mean", turned=0.1), match("micro-batch-mean")])
    assert on(ID, trace(probe("quiet", one, one)), max_norm=None).outcome == "pass"
    assert on(ID, trace(probe("quiet", one, other)), max_norm=None).outcome != "pass"


def test_a_factor_of_the_order_of_the_loss_scale_is_not_its_business():
    """Dividing once too often by 65536 is no question of averages."""
    assert on(ID, trace(probe("quiet", *off(1 / 65536, scale=65536.0)))).outcome == "inconclusive"


def test_clipped_windows_alone_are_inconclusive():
    """Clipping hides every factor."""
    loud = [update(i, true=n, consumed=1.0) for i, n in enumerate(norms(9))]
    assert on(ID, trace(probe("loud", *loud))).outcome == "inconclusive"


def test_a_direction_that_no_weights_explain_is_inconclusive():
    """Something happened between backward and step; others say what."""
    assert (
        on(ID, trace(probe("quiet", update(0, turned=0.3, unexplained=0.3)))).outcome
        == "inconclusive"
    )


def test_a_short_last_window_is_told_and_flips_nothing():
    """Divided by the full count: 2 of 4."""
    short = update(2, true=0.1, consumed=0.05, coefficients=(1.0, 1.0), short=True)
    seen = trace(probe("quiet", update(0, true=0.1), update(1, true=0.13), short))
    verdict = on(ID, seen)
    assert verdict.outcome == "pass"
    assert "0.5 of its size" in verdict.sentence


def test_windows_of_one_are_inconclusive():
    """There is no large batch to compare with."""
    assert on(ID, trace(probe("quiet", update(0, coefficients=(1.0,))))).outcome == "inconclusive"


def test_gradients_divided_after_each_backward_fail():
    """Early micro-batches are divided four times, the last one once."""
    again = update(0, turned=0.6, coefficients=(1 / 256, 1 / 64, 1 / 16, 1 / 4))
    verdict = on(ID, trace(probe("quiet", again)), max_norm=None)
    assert verdict.outcome == "fail"
    assert "scaled again after each backward" in verdict.sentence


def uneven(**fields):
    """Divided by a count that is another one in each window."""
    return [
        update(i, true=0.1, matches=[match(true=0.1, consumed=0.01 / (i + 1))], **fields)
        for i in range(3)
    ]


def test_a_divisor_that_changes_fails_where_nothing_clips():
    """No clip was called, so no threshold can be the reason."""
    verdict = on(ID, trace(probe("quiet", *uneven())), max_norm=None)
    assert verdict.outcome == "fail"
    assert "consumed 0.1 times" in verdict.sentence


def test_a_size_that_changes_may_be_the_clips():
    """A threshold that adapts leaves other norms in each window."""
    calls = ("clip_grad_norm_(4 gradients) returned 0.1",)
    seen = trace(probe("quiet", *uneven(clip_calls=calls)))
    assert on(ID, seen, max_norm=None).outcome == "inconclusive"


def sized(*ratios, **fields):
    return [
        update(i, true=n, matches=[match(true=n, consumed=r * n)], **fields)
        for i, (n, r) in enumerate(zip(norms(0.05), ratios, strict=False))
    ]


def test_a_divisor_of_another_window_fails_though_some_windows_are_right():
    """A counter that is never reset; the count of the last micro-batch for all."""
    for ratios in ((1.0, 0.5, 0.33), (1.3, 0.83, 1.0)):
        verdict = on(ID, trace(probe("quiet", *sized(*ratios))), max_norm=None)
        assert verdict.outcome == "fail"
        assert "not the window's own" in verdict.sentence


def test_what_a_clip_may_have_cut_is_no_divisor():
    """Larger gradients are shorter, smaller ones are whole."""
    cut = [
        update(i, true=n, matches=[match(true=n, consumed=min(n, 0.09 + i / 1000))])
        for i, n in enumerate((0.05, 0.08, 0.2, 0.3))
    ]
    assert on(ID, trace(probe("quiet", *cut)), max_norm=None).outcome == "inconclusive"


def test_a_division_that_reaches_some_parameters_only_fails():
    """Clipping in parts shrinks, and so do the factors that it leaves."""

    def judged(*factors):
        parts = [
            parameter(n, 0.1, f * 0.1) for n, f in zip(("weight", "bias"), factors, strict=True)
        ]
        uneven = update(
            matches=[match(true=0.14, turned=0.5, parameters=parts)],
            turned=0.5,
            unexplained=0.5,
            unexplained_by_parameter=0.0,
        )
        return on(ID, trace(probe("quiet", uneven)), max_norm=None)

    assert judged(1.0, 4.0).outcome == "fail"
    assert "1 to 4 times" in judged(1.0, 4.0).sentence
    assert judged(1.0, 0.4).outcome == "inconclusive"


def test_a_short_last_window_of_no_lawful_size_fails():
    """Summed over two ranks; where a clip may act nothing is said."""
    full = [update(0, true=0.1), update(1, true=0.13)]
    double = update(2, true=0.1, consumed=0.2, coefficients=(1.0, 1.0), short=True)
    verdict = on(ID, trace(probe("quiet", *full, double)))

    assert verdict.outcome == "fail"
    assert "short last window" in verdict.sentence
    summed = update(2, true=0.1, consumed=0.15, coefficients=(1.0, 1.0, 1.0), short=True)
    ranks = [rank([*full, summed]), rank([*full, summed], 1)]
    verdict = on(ID, trace(probe("quiet", ranks=ranks)))
    assert verdict.outcome == "fail"
    assert "summed over 2 ranks" in verdict.sentence
    loud = update(2, true=9.0, consumed=1.0, coefficients=(1.0, 1.0), short=True)
    assert on(ID, trace(probe("quiet", *full, loud))).outcome == "pass"


def test_a_short_last_window_that_was_divided_twice_fails_though_a_clip_was_called():
    """Far below the threshold that the message names the clip did nothing."""
    full = [update(0, true=0.1), update(1, true=0.13)]
    calls = ("clip_grad_norm_(6 gradients) returned 0.03",)
    twice = update(
        2, true=0.1, consumed=0.03, coefficients=(1.0, 1.0, 1.0), short=True, clip_calls=calls
    )

    assert on(ID, trace(probe("quiet", *full, twice))).outcome == "fail"
    assert on(ID, trace(probe("quiet", *full, twice)), max_norm=None).outcome == "pass"


def test_a_divisor_that_changes_within_the_short_last_window_fails():
    """Weights that follow the number of samples, or another loss, are no such divisor."""
    full = [update(0, true=0.1), update(1, true=0.13)]

    def judged(weights, sizes=(6, 6), error=0.0):
        own = tuple(
            micro_batch(8 + i, weight=w, real_samples=n, objective_error=error)
            for i, (w, n) in enumerate(zip(weights, sizes, strict=True))
        )
        found = [match(true=0.1, turned=0.3), match("as-computed", true=0.1)]
        rest = update(2, matches=found, micro_batches=own, window_size=2, short=True)
        return on(ID, trace(probe("quiet", *full, rest)))

    assert judged((0.25, 0.5)).outcome == "fail"
    assert "weigh 0.25, 0.5" in judged((0.25, 0.5)).sentence
    assert judged((0.25, 0.25)).outcome == "pass"
    assert judged((0.2, 0.4), sizes=(3, 6)).outcome == "pass"
    assert judged((0.25, 0.5), error=0.7).outcome == "pass"


def test_a_weight_of_the_loss_that_is_learned_is_no_wrong_divisor():
    """Its first window is exact; where a tensor beside the model is trained the later ones are not."""
    beside = [update(i, true=0.4, consumed=0.4 * f) for i, f in enumerate((1.0, 1.05, 1.1))]
    beside = [u.model_copy(update={"consumed_norm": 2 * u.consumed_norm}) for u in beside]
    alone = [update(i, true=0.4, consumed=0.4 * f) for i, f in enumerate((1.0, 1.1, 1.1))]
    divided = [u.model_copy(update={"index": i}) for i, u in enumerate(beside[2:] * 3)]

    assert on(ID, trace(probe("quiet", *beside))).outcome == "inconclusive"
    assert on(ID, trace(probe("quiet", *alone))).outcome == "fail"
    assert on(ID, trace(probe("quiet", *divided))).outcome == "fail"


def test_a_temperature_that_is_learned_is_no_wrong_weight():
    """Outputs over a temperature turn the gradient a little as soon as it has moved; clipped or not."""

    def off(index):
        found = [match("as-computed", true=0.4), match(true=0.4, turned=0.005)]
        return update(index, true=0.4, matches=found)

    def judged(first, *, beside):
        seen = [first, off(1), off(2)]
        if beside:
            seen = [u.model_copy(update={"consumed_norm": 2 * u.consumed_norm}) for u in seen]
        return on(ID, trace(probe("quiet", *seen)))

    exact = update(0, true=0.4)
    assert judged(exact, beside=True).outcome == "inconclusive"
    assert judged(exact, beside=False).outcome == "fail"
    assert judged(off(0), beside=True).outcome == "fail"
