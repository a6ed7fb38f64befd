"""The one decision rule. Real comparisons are a batch of one, simulated ones a batch of thousands."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.comparison.interval import interval
from harness.comparison.sign_flip import Floats, Integers, p_values
from harness.domain.comparison import Estimate, Says

_NOISE_OF_FIVE_TRIALS = 2 / 5
"""The imagined scenarios never get smaller than this: without it ten trials cover 94 %, not 95."""

_FINEST = 10_000
"""Rates with no smaller common denominator are rounded to one part in this many."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Right answers of many comparisons of the same scenarios."""

    old: Integers
    """(comparisons, scenarios)."""
    new: Integers
    """(comparisons, scenarios)."""
    old_trials: Integers
    """(scenarios,): judged trials, at least 1."""
    new_trials: Integers
    """(scenarios,): judged trials, at least 1."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What each comparison shows. Every array has a row a comparison."""

    effect: Floats
    """Mean difference over scenarios, new less old."""
    p: Floats
    """Two-sided, exact."""
    low: Floats
    """Lower end of the interval."""
    high: Floats
    """Upper end of the interval."""
    differences: Floats
    """(comparisons, scenarios)."""
    alpha: float
    """Level of the test."""

    @property
    def better(self) -> npt.NDArray[np.bool_]:
        """Where a gain is shown."""
        return (self.p <= self.alpha) & (self.effect > 0)

    @property
    def worse(self) -> npt.NDArray[np.bool_]:
        """Where a loss is shown."""
        return (self.p <= self.alpha) & (self.effect < 0)

    def passed(self, margin: float) -> npt.NDArray[np.bool_]:
        """Where the gate passes: no loss is shown, and one of ``margin`` is ruled out."""
        return (self.low > -margin) & ~self.worse


def decide(counts: Counts, alpha: float) -> Decisions:
    """Test and interval for every comparison, with the scenario as the unit."""
    differences = differences_of(counts)
    p = p_values(in_one_unit(differences, counts))
    low, high = interval(differences, noise_of(counts), p, alpha)
    return Decisions(differences.mean(axis=1), p, low, high, differences, alpha)


def estimate(counts: Counts, alpha: float) -> Estimate:
    """The only comparison of a batch of one, as a record."""
    decisions = decide(counts, alpha)
    differences = decisions.differences[0]
    single = (counts.old_trials == 1).all() and (counts.new_trials == 1).all()
    return Estimate(
        effect=float(decisions.effect[0]),
        low=float(decisions.low[0]),
        high=float(decisions.high[0]),
        p=float(decisions.p[0]),
        method="exact McNemar" if single else "exact sign flip",
        scenarios=len(differences),
        up=int((differences > 0).sum()),
        down=int((differences < 0).sum()),
        says=_says(decisions),
    )


def _says(decisions: Decisions) -> Says:
    if decisions.worse[0]:
        return "worse"
    return "better" if decisions.better[0] else "no difference shown"


def differences_of(counts: Counts) -> Floats:
    """(comparisons, scenarios): the new rate less the old one."""
    return counts.new / counts.new_trials - counts.old / counts.old_trials


def noise_of(counts: Counts) -> float:
    """Sum of squares of the interval's two imagined scenarios."""
    noise = float(np.mean(1 / counts.old_trials + 1 / counts.new_trials))
    return max(noise, _NOISE_OF_FIVE_TRIALS)


def in_one_unit(differences: Floats, counts: Counts) -> Integers:
    """The differences as whole numbers, so that equal ones are equal."""
    trials = np.concatenate([counts.old_trials, counts.new_trials])
    unit = min(math.lcm(*trials.tolist()), _FINEST)
    return np.rint(differences * unit).astype(np.int64)
