"""Half precision without a GradScaler, as two properties judge it."""

import math

import pytest

from tests.fakes.traces import (
    backward,
    match,
    micro_batch,
    norms,
    probe,
    rank,
    skipped,
    trace,
    update,
)
from tests.properties.verdicts import on

BOTH = ("scaler-protocol", "unscaled-norm")


def step(index, true, autocast, scale):
    """Quiet gradients pass untouched, loud ones are clipped; backward computed ``scale`` times them."""
    got = min(true, 1.0)
    found = [match("as-computed", true=true * scale, consumed=got)]
    found += [match("sample-mean", true=true, consumed=got)]
    alone = micro_batch(index, weight=scale, autocast=autocast)
    return update(
        index, coefficients=(1.0,), matches=found, consumed_norm=got, micro_batches=(alone,)
    )


def seen(autocast="float16", scale=65536.0, *, overflow="skipped"):
    """A quiet probe, a loud one, and one whose second gradient overflows."""
    quiet, loud, third = (
        [step(i, n, autocast, scale) for i, n in enumerate(norms(low))] for low in (0.1, 10.0, 10.0)
    )
    finite = overflow == "none"
    backwards = tuple(backward(after=i, finite=finite or i != 1) for i in range(4))
    if overflow == "consumed":
        third[1] = third[1].model_copy(
            update={"consumed_finite": False, "consumed_norm": math.nan, "matches": ()}
        )
    if overflow == "skipped":
        third[1] = skipped(1, scale=1.0)
    last = probe("overflow", ranks=[rank(third, backwards=backwards)])
    return trace(probe("quiet", *quiet), probe("loud", *loud), last)


def outcomes(found, **expectations):
    wanted = {"accumulates": False, "objectives": ("sample-mean",), "overflow_probe": "overflow"}
    return {on(name, found, **wanted, **expectations).outcome for name in BOTH}


def test_a_loss_scale_of_its_own_that_skips_what_overflows_passes():
    """It does what a GradScaler is for."""
    assert outcomes(seen()) == {"pass"}


def test_a_loss_scale_of_its_own_whose_overflow_is_consumed_does_not_pass():
    """The true gradient elsewhere is not enough."""
    found = on("scaler-protocol", seen(overflow="consumed"), accumulates=False,
               objectives=("sample-mean",), overflow_probe="overflow")  # fmt: skip
    assert found.outcome == "inconclusive"


def test_bfloat16_needs_no_scale_and_passes():
    """Nothing overflows there."""
    found = seen("bfloat16", 1.0, overflow="none")
    assert outcomes(found) == {"pass"}
    wanted = {"accumulates": False, "objectives": ("sample-mean",), "overflow_probe": "overflow"}
    assert on("inf-steps-skipped", found, **wanted).outcome == "pass"


@pytest.mark.parametrize("autocast", [None, "float16"])
def test_float16_without_a_scale_and_full_precision_are_not_judged(autocast):
    """The one underflows, the other gives up what was asked for."""
    assert outcomes(seen(autocast, 1.0, overflow="none")) == {"inconclusive"}


def test_where_the_question_is_about_the_scaler_another_way_is_no_answer():
    """And the sentence says so."""
    assert outcomes(seen(), needs_scaler=True) == {"inconclusive"}
    found = on(
        "scaler-protocol", seen(), accumulates=False, objectives=("sample-mean",), needs_scaler=True
    )
    assert "about a GradScaler's calls, and there are none" in found.sentence
