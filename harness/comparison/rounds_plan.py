"""Comparisons in rounds of agents whose true rates are known: how they err, what they see and ask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.comparison.paired import Counts
from harness.comparison.rounds import Looks, TruthTable, looks_of
from harness.comparison.sign_flip import Floats, Integers
from harness.comparison.simulation import Situation, seen, smallest_loss
from harness.domain.plan import EffectSeen, RoundsMeasured, RoundsPlan, Rules

_RULES = Rules()

_ROOM = 1.2
"""In rounds so many times the trials of a plan with one look are needed, at most, to see as much."""


def shapes(scenarios: int) -> Mapping[str, tuple[float, ...]]:
    """True rates of that many scenarios, in the shapes that banks come in."""
    places = np.arange(scenarios)
    return {
        "all one half": _rates(np.full(scenarios, 0.5)),
        "bimodal": _rates(np.where(places % 2 == 0, 0.9, 0.1)),
        "near the ceiling": _rates(np.full(scenarios, 0.95)),
        "heterogeneous": _rates(np.linspace(0.05, 0.95, scenarios)),
    }


def rounds_plan(scenarios: int, most: int, *, rules: Rules = _RULES) -> RoundsPlan:
    """What a comparison in rounds would do, for each shape that banks come in."""
    measured = (
        rounds_measured(name, rates, most, rules=rules, comparisons=rules.simulations)
        for name, rates in shapes(scenarios).items()
    )
    return RoundsPlan(rules=rules, looks=looks_of(most), measured=tuple(measured))


def rounds_measured(
    name: str,
    rates: Sequence[float],
    most: int,
    *,
    rules: Rules = _RULES,
    comparisons: int = 4000,
) -> RoundsMeasured:
    """Equal agents again and again; then agents that differ by the margin, and by what a plan with one
    look and ``most / 1.2`` trials would see.
    """
    true = np.asarray(rates, dtype=float)
    equal = _simulate(true, 0.0, most, rules, seed=rules.seed + 1, comparisons=comparisons)
    lost = _simulate(true, rules.margin, most, rules, seed=rules.seed + 3, comparisons=comparisons)
    alarms = int((equal.better | equal.worse).sum())
    planned = smallest_loss(_one_look(true, max(1, round(most / _ROOM))), rules)
    shown, asked = None, None
    if planned is not None:
        seed = rules.seed + 2
        found = _simulate(true, planned.effect, most, rules, seed=seed, comparisons=comparisons)
        shown = EffectSeen(effect=planned.effect, power=float(found.worse.mean()))
        asked = float(found.asked.mean())
    return RoundsMeasured(
        name=name,
        scenarios=len(rates),
        most=most,
        comparisons=comparisons,
        alarms=alarms,
        upper=float(stats.binomtest(alarms, comparisons).proportion_ci(0.95, "exact").high),
        passed=int(equal.passed.sum()),
        let_through=int(lost.passed.sum()),
        asked_unchanged=float(equal.asked.mean()),
        planned=shown,
        asked=asked,
        fixed=_as_powerful(true, shown, most, rules) if shown else None,
    )


@dataclass(frozen=True, slots=True)
class _Ended:
    """How comparisons in rounds ended. Every array has a row a comparison."""

    better: TruthTable
    worse: TruthTable
    passed: TruthTable
    asked: Integers


def _simulate(
    rates: Floats, loss: float, most: int, rules: Rules, *, seed: int, comparisons: int
) -> _Ended:
    """As ``simulation.simulate`` loses right answers, trial by trial."""
    mean = float(rates.mean())
    kept = 1 - min(1.0, loss / mean) if mean > 0 else 1.0
    draws = np.random.default_rng(seed)
    old, new = (_right(draws, true, most, comparisons) for true in (rates, rates * kept))
    looks = looks_of(most)
    engine, going = Looks(len(rates), looks, rules.alpha, rules.margin), np.arange(comparisons)
    ended = _Ended(*(np.zeros(comparisons, dtype=kind) for kind in (bool, bool, bool, np.int64)))
    for trials in looks:
        many = np.full(len(rates), trials)
        counts = Counts(old[going, :, trials - 1], new[going, :, trials - 1], many, many)
        found = engine.look(counts, np.arange(len(rates)))
        fine = (found.low > -rules.margin) & ~(found.shown & (found.effect < 0))
        ends = found.ends(fine) | (trials == most)
        ended.better[going] = found.shown & (found.effect > 0)
        ended.worse[going] = found.shown & (found.effect < 0)
        ended.passed[going] = fine
        ended.asked[going] = trials
        engine.leave(~ends)
        going = going[~ends]
    return ended


def _right(draws: np.random.Generator, rates: Floats, most: int, comparisons: int) -> Integers:
    """(comparisons, scenarios, trials): right answers up to each trial."""
    right = draws.random((comparisons, len(rates), most)) < rates[:, None]
    return np.cumsum(right, axis=2, dtype=np.int64)


def _one_look(rates: Floats, trials: int) -> Situation:
    counted = np.full(len(rates), trials)
    return Situation(rates, counted, counted)


def _as_powerful(rates: Floats, shown: EffectSeen, most: int, rules: Rules) -> float:
    """Trials of a plan with one look that shows the loss as often."""
    trials = np.arange(1, 2 * most + 1)
    powers = []
    for count in trials.tolist():
        powers.append(seen(_one_look(rates, count), shown.effect, rules).power)
        if powers[-1] >= shown.power:
            break
    rising = np.maximum.accumulate(np.asarray(powers))
    return float(np.interp(shown.power, rising, trials[: len(rising)]))


def _rates(rates: Floats) -> tuple[float, ...]:
    return tuple(rates.tolist())
