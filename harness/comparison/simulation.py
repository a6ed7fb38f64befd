"""Comparisons of agents whose true rates are known, thousands at a time."""

from dataclasses import dataclass, replace

import numpy as np

from harness.comparison.paired import Counts, Decisions, decide
from harness.comparison.sign_flip import Floats, Integers
from harness.domain.plan import EffectSeen, Reach, Rules


@dataclass(frozen=True, slots=True)
class Situation:
    """What would be compared: true rates before the change, and trials."""

    rates: Floats
    """(scenarios,): chance that a trial is right."""
    old_trials: Integers
    """(scenarios,): trials in the old arm, at least 1."""
    new_trials: Integers
    """(scenarios,): trials in the new arm, at least 1."""


def simulate(
    situation: Situation, loss: float, rules: Rules, *, seed: int, comparisons: int
) -> Decisions:
    """Decisions when ``loss`` of the right answers is lost, on average over scenarios.

    Every right answer is lost with the same chance. The same seed draws the same trials whatever
    the loss, so that power rises smoothly with it.
    """
    mean = float(situation.rates.mean())
    kept = 1 - min(1.0, loss / mean) if mean > 0 else 1.0
    draws = np.random.default_rng(seed)
    counts = Counts(
        old=_right(draws, situation.rates, situation.old_trials, comparisons),
        new=_right(draws, situation.rates * kept, situation.new_trials, comparisons),
        old_trials=situation.old_trials,
        new_trials=situation.new_trials,
    )
    return decide(counts, rules.alpha)


def reach(situation: Situation, rules: Rules) -> Reach:
    """The smallest loss and the smallest gain that would be seen.

    A gain is the loss of an agent that is wrong where this one is right.
    """
    mirrored = replace(situation, rates=1 - situation.rates)
    return Reach(loss=smallest_loss(situation, rules), gain=smallest_loss(mirrored, rules))


def smallest_loss(situation: Situation, rules: Rules) -> EffectSeen | None:
    """In whole points, with its power; ``None`` when not even losing everything is seen enough."""
    low, high = 0, int(np.floor(100 * situation.rates.mean() + 1e-9))
    best = seen(situation, high / 100, rules)
    if best.power < rules.power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = seen(situation, middle / 100, rules)
        if found.power >= rules.power:
            high, best = middle, found
        else:
            low = middle
    return best


def seen(situation: Situation, loss: float, rules: Rules) -> EffectSeen:
    """How often a loss would be called worse."""
    decisions = simulate(situation, loss, rules, seed=rules.seed, comparisons=rules.simulations)
    return EffectSeen(effect=loss, power=float(decisions.worse.mean()))


def _right(
    draws: np.random.Generator, rates: Floats, trials: Integers, comparisons: int
) -> Integers:
    """Right answers: (comparisons, scenarios)."""
    most = int(trials.max())
    right = draws.random((comparisons, len(rates), most)) < rates[:, None]
    asked = np.arange(most) < trials[:, None]
    return np.asarray((right & asked).sum(axis=2), dtype=np.int64)
