"""The instrument against itself: how often equal skills are called different."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from harness.comparison.sign_flip import Floats
from harness.comparison.simulation import Situation, simulate, smallest_loss
from harness.comparison.tally import tally
from harness.domain.comparison import Arm
from harness.domain.errors import UsageError
from harness.domain.plan import FalseAlarms, Rules

_RULES = Rules()


def shapes(scenarios: int) -> Mapping[str, tuple[float, ...]]:
    """True rates of that many scenarios, in the shapes that banks come in."""
    places = np.arange(scenarios)
    return {
        "all one half": _rates(np.full(scenarios, 0.5)),
        "bimodal": _rates(np.where(places % 2 == 0, 0.9, 0.1)),
        "near the ceiling": _rates(np.full(scenarios, 0.95)),
        "heterogeneous": _rates(np.linspace(0.05, 0.95, scenarios)),
    }


def stored_rates(*arms: Arm) -> tuple[float, ...]:
    """Rates that stored runs of one skill suggest, one for each scenario with a judged trial.

    Half a right and half a wrong answer are added, so that three of three is not taken for always.

    Raises:
        UsageError: nothing was judged.
    """
    found: dict[str, list[int]] = {}
    for arm in arms:
        for scenario in arm.scenarios:
            counted = tally(scenario)
            sums = found.setdefault(scenario.scenario, [0, 0])
            sums[0] += counted.right
            sums[1] += counted.judged
    rates = tuple((right + 0.5) / (judged + 1) for right, judged in found.values() if judged)
    if not rates:
        raise UsageError("no trial of these runs was judged: there are no rates to simulate with")
    return rates


def false_alarms(
    name: str,
    rates: Sequence[float],
    trials: int,
    *,
    rules: Rules = _RULES,
    comparisons: int = 4000,
) -> FalseAlarms:
    """Compare equal agents again and again; then agents that differ by the planned effect.

    ``rates``: the true rate of each scenario in both arms. The plan is made as ``plan`` makes it;
    what is measured here uses other random numbers than the plan did.
    """
    counted = np.full(len(rates), trials)
    situation = Situation(np.asarray(rates, dtype=float), counted, counted)
    equal = simulate(situation, 0.0, rules, seed=rules.seed + 1, comparisons=comparisons)
    planned = smallest_loss(situation, rules)
    lost = simulate(situation, rules.margin, rules, seed=rules.seed + 3, comparisons=comparisons)
    alarms = int((equal.better | equal.worse).sum())
    measured = None
    if planned:
        seed = rules.seed + 2
        unequal = simulate(situation, planned.effect, rules, seed=seed, comparisons=comparisons)
        measured = float(unequal.worse.mean())
    return FalseAlarms(
        name=name,
        rates=tuple(rates),
        trials=trials,
        rules=rules,
        comparisons=comparisons,
        alarms=alarms,
        upper=float(stats.binomtest(alarms, comparisons).proportion_ci(0.95, "exact").high),
        stopped=int(equal.worse.sum()),
        passed=int(equal.passed(rules.margin).sum()),
        let_through=int(lost.passed(rules.margin).sum()),
        planned=planned,
        measured=measured,
    )


def _rates(rates: Floats) -> tuple[float, ...]:
    return tuple(rates.tolist())
