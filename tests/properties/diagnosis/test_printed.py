"""Numbers that a program printed, held against true values."""

import pytest

from harness.properties.diagnosis.printed import TrueNumbers, printed

TRUE = [0.0, 0.0101, 0.0119, 0.5, 1.0, 1.004, 1.006, 97.0, float("inf"), float("nan")]


@pytest.mark.parametrize(
    "text", ["0.010", "0.011", "0.012", "0.50", "0.9996", "1.00", "1.01", "97.2", "98.0"]
)
def test_a_number_is_looked_for_among_all_values_by_its_two_neighbours(text: str) -> None:
    """What the neighbours say is what all finite values say, in any order."""
    (number,) = printed([text])
    finite = [t for t in TRUE if t < float("inf")]

    assert TrueNumbers.of(reversed(TRUE)).shown_by(number) == any(number.shows(t) for t in finite)


def test_a_number_shows_a_value_above_it_and_one_below() -> None:
    """Rounding goes both ways."""
    above, below = printed(["1.00", "1.01"])

    assert TrueNumbers.of([1.004]).shown_by(above)
    assert TrueNumbers.of([1.006]).shown_by(below)


def test_nothing_shows_a_value_that_is_not_finite() -> None:
    """An infinite norm would be near to every number."""
    (number,) = printed(["3.25"])

    assert not TrueNumbers.of([float("inf"), float("nan")]).shown_by(number)
