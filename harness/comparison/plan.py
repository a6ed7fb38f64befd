"""What a comparison could show, printed before money is spent."""

import math

import numpy as np
from scipy import stats

from harness.comparison.sign_flip import Floats
from harness.comparison.simulation import Situation, reach, seen, simulate
from harness.domain.errors import UsageError
from harness.domain.plan import Plan, Rules

_RULES = Rules()


def plan(
    scenarios: int,
    trials: int,
    *,
    rate: float = 0.5,
    agreement: float | None = None,
    deterministic: bool = False,
    rules: Rules = _RULES,
) -> Plan:
    """The smallest effects that would be seen, and how often.

    ``rate``: share of right answers before the change. ``agreement``: chance that two trials of one
    scenario come out alike; by default what independent trials at ``rate`` have, the least
    possible. ``deterministic``: an agent repeats itself, so trials after the first add nothing.

    Raises:
        UsageError: a number that cannot be.
    """
    _refuse_nonsense(scenarios, trials, rate)
    agreement = 1.0 if deterministic else _agreement(rate, agreement)
    counted = np.full(scenarios, 1 if deterministic else trials)
    rates = assumed_rates(scenarios, rate, agreement)
    situation = Situation(rates, counted, counted)
    losses = [step / 10 for step in range(1, int(10 * rates.mean() + 1e-9) + 1)]
    unchanged = simulate(situation, 0.0, rules, seed=rules.seed, comparisons=rules.simulations)
    return Plan(
        scenarios=scenarios,
        trials=trials,
        rate=rate,
        agreement=agreement,
        deterministic=deterministic,
        rules=rules,
        needed=changes_needed(scenarios, rules.alpha),
        reach=reach(situation, rules),
        curve=tuple(seen(situation, loss, rules) for loss in losses),
        passed=float(unchanged.passed(rules.margin).mean()),
    )


def assumed_rates(scenarios: int, rate: float, agreement: float) -> Floats:
    """True rates with this mean and this agreement of trials: quantiles of a Beta distribution."""
    spread = 1 - (1 - agreement) / (2 * rate * (1 - rate)) if 0 < rate < 1 else 0.0
    if spread < 1e-6:
        return np.full(scenarios, rate)
    places = (np.arange(scenarios) + 0.5) / scenarios
    if spread > 1 - 1e-6:
        return np.where(places > 1 - rate, 1.0, 0.0)
    odds = 1 / spread - 1
    return np.asarray(stats.beta.ppf(places, rate * odds, (1 - rate) * odds))


def changes_needed(scenarios: int, alpha: float) -> int | None:
    """Scenarios that have to change, all one way, for a two-sided p of at most ``alpha``."""
    needed = math.ceil(1 - math.log2(alpha))
    return needed if needed <= scenarios else None


def _agreement(rate: float, agreement: float | None) -> float:
    least = rate**2 + (1 - rate) ** 2
    if agreement is None:
        return least
    if not least - 1e-9 <= agreement <= 1:
        raise UsageError(
            f"an agreement of {agreement:g} cannot be: trials that are right {rate:.0%} of the time"
            f" agree at least {least:.0%} of the time; give a number from {least:.3g} to 1"
        )
    return agreement


def _refuse_nonsense(scenarios: int, trials: int, rate: float) -> None:
    if scenarios < 1 or trials < 1:
        raise UsageError(f"{scenarios} scenarios and {trials} trials: each must be at least 1")
    if not 0 <= rate <= 1:
        raise UsageError(f"a rate of right answers of {rate:g}: it must lie between 0 and 1")
