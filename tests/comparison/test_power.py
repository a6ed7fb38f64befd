"""The gate errs as rarely as it says, and sees what its plan promises."""

import numpy as np
import pytest

from benchmarks.false_alarms import false_alarms
from harness.comparison import compare, plan, shapes
from harness.comparison.plan import assumed_rates
from harness.domain.errors import UsageError
from harness.domain.plan import Rules
from tests.comparison.arms import scripted

CASES = [
    pytest.param(shape, trials, marks=[] if trials < 10 else [pytest.mark.full])
    for shape in shapes(10)
    for trials in (1, 3, 5, 10)
]


@pytest.mark.parametrize(("shape", "trials"), CASES)
def test_equal_skills_raise_an_alarm_at_most_as_often_as_promised(shape, trials):
    """4,000 comparisons; the upper bound of the share, and the power beside the plan's."""
    found = false_alarms(shape, shapes(10)[shape], trials, rules=Rules(seed=11))

    assert found.comparisons == 4000
    assert found.upper <= 0.065
    assert found.let_through / found.comparisons <= 0.04
    assert found.planned or trials < 5  # too few trials see not even the loss of everything
    if found.planned:
        assert abs(found.measured - found.planned.power) <= 0.05


@pytest.mark.full
@pytest.mark.parametrize("shape", shapes(10))
def test_scripted_agents_compared_one_by_one_meet_the_same_promise(shape):
    """The whole way from trials to the gate, for equal agents and for those that differ as planned."""
    rates = np.asarray(shapes(10)[shape])
    planned = false_alarms(shape, rates, 5).planned
    kept = 1 - planned.effect / rates.mean()
    rules = Rules(simulations=1)

    def gates(change: float) -> list[int]:
        pairs = (
            (scripted("old", rates, 5, 2 * i), scripted("new", rates * change, 5, 2 * i + 1))
            for i in range(300)
        )
        return [compare(old, new, rules).gate.code for old, new in pairs]

    assert gates(1.0).count(1) / 300 <= 0.05
    assert abs(gates(kept).count(1) / 300 - planned.power) <= 0.05 + 2 * (0.8 * 0.2 / 300) ** 0.5


def test_five_scenarios_can_show_nothing():
    """All of them, all one way, is one in sixteen."""
    found = plan(5, 10)

    assert (found.needed, found.reach.loss, found.reach.gain) == (None, None, None)


def test_more_trials_see_smaller_losses():
    """And so do more scenarios."""
    rules = Rules(simulations=500)
    three, ten, many = (plan(n, k, rules=rules) for n, k in ((10, 3), (10, 10), (30, 3)))

    assert ten.reach.loss.effect < three.reach.loss.effect
    assert many.reach.loss.effect < three.reach.loss.effect
    assert three.passed < ten.passed


@pytest.mark.full
def test_repeating_a_deterministic_agent_shows_nothing_more():
    """Three trials of it are one."""
    once, thrice = (plan(10, trials, rate=1, deterministic=True) for trials in (1, 3))

    assert once.reach == thrice.reach
    assert thrice.reach.loss.effect > plan(10, 3, rate=1).reach.loss.effect - 1e-9


@pytest.mark.parametrize(("rate", "agreement"), [(0.5, 0.5), (0.5, 0.8), (0.8, 0.75), (0.7, 1.0)])
def test_assumed_rates_have_the_mean_and_the_agreement_asked_for(rate, agreement):
    """Up to what ten scenarios can be: quantiles, not a sample."""
    rates = assumed_rates(400, rate, agreement)

    assert rates.mean() == pytest.approx(rate, abs=0.01)
    assert (rates**2 + (1 - rates) ** 2).mean() == pytest.approx(agreement, abs=0.01)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"scenarios": 0, "trials": 3}, "each must be at least 1"),
        ({"scenarios": 10, "trials": 3, "rate": 1.5}, "between 0 and 1"),
        ({"scenarios": 10, "trials": 3, "rate": 0.8, "agreement": 0.5}, "at least 68%"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_a_sentence(asked, said):
    """It says what would be possible."""
    with pytest.raises(UsageError, match=said):
        plan(**asked)
