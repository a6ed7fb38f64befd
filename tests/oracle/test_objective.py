"""How a program's loss weighed its samples, beside the workload's own."""

import numpy as np
import pytest

from harness.oracle.objective import fitted_weights, part_on_padding, uniform_factor

REFERENCE = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 2.0]])
"""dL/dout of three samples in the workload's own loss."""
REAL = np.array([1.0, 1.0, 0.0])
"""The third is padding."""


@pytest.mark.parametrize("factor", [0.25, 1.0, 7.0, -3.0])
def test_a_multiple_of_the_own_loss_is_known_by_its_factor(factor: float) -> None:
    assert uniform_factor(factor * REFERENCE, REFERENCE) == pytest.approx(factor)


@pytest.mark.parametrize(
    "received",
    [
        REFERENCE * np.array([[1.0], [2.0], [1.0]]),
        REFERENCE + np.array([[0.0, 1e-4], [0.0, 0.0], [0.0, 0.0]]),
        np.zeros_like(REFERENCE),
        np.full_like(REFERENCE, np.nan),
    ],
    ids=["one sample twice", "one number off by a little", "nothing", "not a number"],
)
def test_what_is_no_multiple_of_the_own_loss_has_no_factor(received: np.ndarray) -> None:
    assert uniform_factor(received, REFERENCE) is None


def test_weights_are_fitted_row_by_row_and_summed_over_real_samples() -> None:
    weighed = REFERENCE * np.array([[0.5], [2.0], [9.0]])
    total, misfit = fitted_weights(weighed, REFERENCE, REAL)

    assert total == pytest.approx(2.5)
    assert misfit == pytest.approx(0.0, abs=1e-12)


def test_the_misfit_is_the_part_that_no_weights_explain() -> None:
    """One row at right angles to its reference, of five times the length of the other."""
    received = np.array([[1.0, 0.0], [0.0, 5.0]])
    total, misfit = fitted_weights(received, np.array([[1.0, 0.0], [1.0, 0.0]]), np.ones(2))

    assert total == pytest.approx(1.0)
    assert misfit == pytest.approx(5.0 / np.sqrt(26.0))


def test_a_loss_that_is_not_finite_has_no_weights() -> None:
    assert fitted_weights(np.full((2, 2), np.inf), np.ones((2, 2)), np.ones(2)) == (None, None)


def test_the_part_on_padding_is_relative_to_the_whole() -> None:
    received = np.array([[0.0, 0.0], [0.0, 4.0], [3.0, 0.0]])

    assert part_on_padding(received, REAL) == pytest.approx(0.6)
    assert part_on_padding(received, np.ones(3)) == 0.0
