"""What the oracle says of gradients whose truth is known by construction."""

import math

import numpy as np
import pytest

from harness.oracle.gradient import Gradient, total
from harness.oracle.matching import (
    coefficients,
    cut_at,
    match,
    tolerance,
    unexplained_by_parameter,
)


def gradient(*rows: list[float]) -> Gradient:
    """Gradients of parameters ``p0``, ``p1`` ..."""
    return Gradient.of({f"p{i}": np.array(row) for i, row in enumerate(rows)})


FLOWS = [
    gradient([1.0, 0.0, 2.0], [0.5, 0.0]),
    gradient([0.0, 3.0, 1.0], [0.0, 1.0]),
    gradient([1.0, 1.0, 0.0], [2.0, 2.0]),
]


def combined(*factors: float) -> Gradient:
    """A known combination of ``FLOWS``."""
    return total(flow.scaled(f) for f, flow in zip(factors, FLOWS, strict=True))


@pytest.mark.parametrize(
    "factors", [(1.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.25, 0.25, 0.25), (2.0, 1.0, 0.0)]
)
def test_coefficients_of_micro_batches_are_recovered(factors: tuple[float, float, float]) -> None:
    """Full, wiped, clipped and repeated micro-batches are told apart by their coefficients."""
    found = coefficients(FLOWS, combined(*factors))

    assert found.values == pytest.approx(factors, abs=1e-9)
    assert found.unexplained < 1e-9


def test_indistinguishable_flows_have_no_coefficient() -> None:
    """Two flows in the same direction cannot be told apart, and the oracle does not pretend."""
    found = coefficients([FLOWS[0], FLOWS[0], FLOWS[1]], combined(1.0, 1.0, 0.0))

    assert found.values[0] is None
    assert found.values[1] is None
    assert found.values[2] == pytest.approx(1.0)


def test_more_flows_than_elements_explain_nothing() -> None:
    """Any gradient is a sum of them, noise as well."""
    chance = np.random.default_rng(0)
    many = [gradient(chance.normal(size=4).tolist()) for _ in range(9)]

    found = coefficients(many, gradient(chance.normal(size=4).tolist()))

    assert set(found.values) == {None}


def test_rounding_of_a_huge_gradient_is_no_share_of_a_small_old_one() -> None:
    """After a step that threw the weights about, an old micro-batch is smaller than the noise."""
    new, old = FLOWS[0].scaled(1e3), FLOWS[1].scaled(1.0)
    rounding = total([FLOWS[1].scaled(4e-4), FLOWS[2].scaled(1e-4)])

    found = coefficients([old, new], total([new, rounding]))

    assert found.values[0] in (0.0, None)
    assert found.values[1] == pytest.approx(1.0, abs=1e-5)


def test_something_else_in_the_gradient_is_left_unexplained() -> None:
    """A gradient that no micro-batch produced shows as a residual."""
    foreign = total([combined(1.0, 1.0, 1.0), gradient([5.0, -7.0, 3.0], [0.0, 0.0])])

    assert coefficients(FLOWS, foreign).unexplained > 0.3


def test_a_factor_for_each_parameter_explains_a_clip_for_each_layer() -> None:
    """Clipping layer by layer leaves nothing unexplained once every parameter has its own factor."""
    window = combined(1.0, 1.0, 1.0)
    consumed = window.spread([0.1, 0.7])

    assert unexplained_by_parameter(window, consumed) < 1e-12
    assert coefficients(FLOWS, consumed).unexplained > 0.01


def test_a_clipped_gradient_keeps_its_direction() -> None:
    """Scaling changes the ratio and the error, never the direction."""
    true = combined(1.0, 1.0, 1.0)
    found = match("as-computed", true, true.scaled(0.25))

    assert found.ratio == pytest.approx(0.25)
    assert found.cosine == pytest.approx(1.0)
    assert found.direction_error < 1e-12
    assert found.relative_error == pytest.approx(0.75)


def test_an_absent_gradient_is_not_a_zero() -> None:
    """A parameter without a gradient is listed as absent and left out of the comparison."""
    true = combined(1.0, 1.0, 1.0)
    found = match("as-computed", true, true.only({"p0"}))

    absent = {p.name: p.consumed_norm for p in found.parameters}
    assert absent["p1"] is None
    assert found.relative_error == 0.0


def test_no_gradient_at_all_has_no_direction() -> None:
    """Nothing expected and nothing consumed is no mismatch, and no match either."""
    nothing = gradient([0.0, 0.0, 0.0])
    found = match("as-computed", nothing, nothing)

    assert found.relative_error == 0.0
    assert math.isinf(found.ratio)


def test_an_empty_window_has_only_the_tolerance_of_the_clip() -> None:
    """Without a gradient there is nothing that rounding could change."""
    assert tolerance([], Gradient.of({})) == pytest.approx(2e-6)


def test_the_order_of_parameters_does_not_matter() -> None:
    """An optimizer with groups lists parameters in another order; the same gradient stays the same."""
    true = combined(1.0, 1.0, 1.0)
    reordered = true.on(("p1", "p0"))

    assert match("as-computed", true, reordered).relative_error == 0.0
    assert coefficients(FLOWS, reordered).values == pytest.approx((1.0, 1.0, 1.0))
    assert unexplained_by_parameter(true, reordered) < 1e-12


def test_elements_that_were_cut_off_one_by_one_tell_their_limit() -> None:
    """A factor, or a limit that nothing reached, is no such thing."""
    whole = combined(1.0, 1.0, 1.0)

    assert cut_at(whole, whole.with_elements(whole.flat.clip(-1.5, 1.5))) == pytest.approx(1.5)
    assert cut_at(whole, whole) is None
    assert cut_at(whole, whole.scaled(0.25)) is None
