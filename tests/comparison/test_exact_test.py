"""The test and the interval are what they are called, and they agree with each other."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.comparison import shapes
from harness.comparison.compare import pass_all, pass_at
from harness.comparison.many_tests import holm
from harness.comparison.paired import Counts, decide
from harness.comparison.sign_flip import p_values
from harness.comparison.simulation import Situation, simulate
from harness.domain.plan import Rules

RULES = Rules()


def p_of(*differences: int) -> float:
    return float(p_values(np.asarray([differences]))[0])


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=9))
def test_the_sign_flip_counts_what_scipy_counts(differences):
    """All 2^n assignments of signs, two-sided, ties included."""
    values = np.asarray(differences)
    scipy = stats.permutation_test(
        (values, np.zeros_like(values)),
        lambda a, b, axis: (a - b).sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )

    assert p_of(*differences) == pytest.approx(scipy.pvalue, abs=1e-12)


@pytest.mark.parametrize(("up", "down"), [(6, 0), (5, 0), (9, 1), (7, 3), (1, 0), (0, 0)])
def test_with_single_trials_it_is_mcnemar(up, down):
    """A binomial test over the scenarios that changed; those that did not say nothing."""
    mcnemar = stats.binomtest(up, up + down).pvalue if up + down else 1.0

    assert p_of(*[1] * up, *[-1] * down, 0, 0) == pytest.approx(mcnemar, abs=1e-15)


def test_thirty_scenarios_are_counted_as_exactly_as_three():
    """2^30 assignments, without visiting them."""
    assert p_of(*[1] * 30) == 2.0**-29


@st.composite
def one_comparison(draw):
    """Right answers and trials of up to eight scenarios, trials unequal."""
    trials = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=8))
    old, new = (np.asarray([draw(st.integers(0, one[i])) for one in trials]) for i in (0, 1))
    return Counts(old[None], new[None], *np.asarray(trials).T)


@given(one_comparison())
def test_the_interval_holds_zero_when_the_test_keeps_it_and_the_effect_always(counts):
    """A reader never sees a p and an interval that contradict each other."""
    found = decide(counts, 0.05)
    low, effect, high = found.low[0], found.effect[0], found.high[0]

    assert -1 <= low <= effect + 1e-12
    assert effect - 1e-12 <= high <= 1
    assert found.p[0] <= 0.05 or low <= 0 <= high
    assert not (found.better[0] and low < 0)
    assert not (found.worse[0] and high > 0)


@given(one_comparison())
def test_swapping_the_arms_swaps_the_sign(counts):
    """Old against new and new against old say the same."""
    one = decide(counts, 0.05)
    other = decide(Counts(counts.new, counts.old, counts.new_trials, counts.old_trials), 0.05)

    assert other.p == pytest.approx(one.p)
    assert (other.low, other.high) == (pytest.approx(-one.high), pytest.approx(-one.low))


@pytest.mark.parametrize(
    ("trials", "gained", "p", "low"),
    [
        (1, 5, 0.0625, 0.0),  # the formula alone would begin at +.01
        (3, 6, 0.03125, 0.0),  # and here at -.02
        (1, 6, 0.03125, 0.0899),
    ],
)
def test_where_test_and_formula_part_the_interval_ends_at_zero(trials, gained, p, low):
    """Ten scenarios, of which some gain one right answer."""
    many = np.full(10, trials)
    new = np.asarray([[1] * gained + [0] * (10 - gained)])
    found = decide(Counts(new * 0, new, many, many), 0.05)

    assert (found.p[0], found.low[0]) == (p, pytest.approx(low, abs=1e-4))


def test_with_single_trials_the_interval_is_bonett_and_prices():
    """Their worked example, as R's statpsych gives it (.44, .0945), with t in place of z."""
    old, new = [0] * 12 + [0] * 26 + [1] * 4 + [1] * 6, [0] * 12 + [1] * 26 + [0] * 4 + [1] * 6
    ones = np.ones(48, dtype=int)
    found = decide(Counts(np.asarray([old]), np.asarray([new]), ones, ones), 0.05)

    half = stats.t.ppf(0.975, 49) * 0.09448809
    assert (found.low[0], found.high[0]) == pytest.approx((0.44 - half, 0.44 + half), abs=1e-6)


@pytest.mark.parametrize("trials", [1, 3, 5, 10, pytest.param(30, marks=pytest.mark.full)])
@pytest.mark.parametrize("loss", [0.0, 0.1, 0.25])
def test_the_interval_covers_with_ten_scenarios(trials, loss):
    """Whatever the true rates look like, and also where a t interval is a point."""
    counted = np.full(10, trials)
    for name, rates in (shapes(10) | {"at the top": (0.99,) * 10}).items():
        situation = Situation(np.asarray(rates), counted, counted)
        found = simulate(situation, loss, RULES, seed=5, comparisons=2000)
        covered = ((found.low <= -loss + 1e-9) & (-loss - 1e-9 <= found.high)).mean()

        assert covered >= 0.94, (name, covered)


def test_holm_multiplies_by_what_is_left():
    """The textbook's steps: the smallest by all, the next by one less, never going down."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@pytest.mark.parametrize(("k", "right"), [*itertools.product((1, 2, 3), range(6))])
def test_reliability_is_the_share_of_all_draws(k, right):
    """pass@k and pass^k of five trials, counted by drawing k of them in every way."""
    draws = list(itertools.combinations([1] * right + [0] * (5 - right), k))

    assert pass_at(k, right, 5) == pytest.approx(Fraction(sum(map(any, draws)), len(draws)))
    assert pass_all(k, right, 5) == pytest.approx(Fraction(sum(map(all, draws)), len(draws)))
