"""Looks at a comparison while it is being asked, whose error rates hold over all of them together.

What may be said by chance is spent look by look (Lan and DeMets 1983; the power family of Kim and
DeMets 1987) on the exact distribution of the sign flip: swapping the arms of a scenario turns all of
its differences around, at every look. So the share of assignments of signs that would have been
called a difference at any look is counted, not approximated.

The interval holds at every look too (Jennison and Turnbull 1989), in O'Brien and Fleming's manner,
which leaves the last one nearly as narrow as if nobody had looked before. ``docs/statistics.md``
shows the figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.comparison.interval import interval
from harness.comparison.paired import Counts, differences_of, in_one_unit, noise_of
from harness.comparison.sign_flip import Floats, Integers

MOST_LOOKS = 12
"""More looks cost power and spare hardly anything."""

HOPELESS = 0.1
"""Where the trend leaves less than this chance, waiting for it is not worth its price."""

_EARLY = 0.6
"""Exponent of the share of time to which alpha is spent; smaller ones stop sooner and see less."""

_ASSIGNMENTS = 1024
"""All of ten or eleven scenarios, each with its mirror image; of more scenarios a fixed sample."""

TruthTable = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]


def looks_of(most: int) -> tuple[int, ...]:
    """After how many trials of each scenario it is looked, up to the most that are asked."""
    apart = math.ceil(most / MOST_LOOKS)
    return (*range(apart, most, apart), most)


@dataclass(frozen=True, slots=True)
class LookResult:
    """What many comparisons of the same scenarios show at one look. Every array has a row for each."""

    effect: Floats
    """Mean difference over the judged scenarios, new less old."""
    p: Floats
    """Chance of as much, or of a difference at an earlier look; at most alpha where one is shown."""
    low: Floats
    """Lower end of the interval."""
    high: Floats
    """Upper end of the interval."""
    shown: TruthTable
    """Whether a difference is shown here."""
    may_be_shown: Floats
    """Chance that one is shown by the last look, if the trend goes on."""
    may_pass: Floats
    """Chance that a loss of the margin is ruled out by the last look, if the trend goes on."""

    def ends(self, passed: TruthTable) -> TruthTable:
        """Where no more has to be asked: a difference is shown; or none is to be expected, and a loss of
        the margin is ruled out (``passed``) or will not be.
        """
        return self.shown | ((self.may_be_shown < HOPELESS) & (passed | (self.may_pass < HOPELESS)))


class Looks:
    """Looks at comparisons of so many scenarios, one after the other."""

    def __init__(self, scenarios: int, looks: Sequence[int], alpha: float, margin: float) -> None:
        """``looks``: after how many trials. ``alpha``: for all looks together."""
        self._signs = _assignments(scenarios)
        self._margin = margin
        self._times = np.asarray(looks) / looks[-1]
        self._spent = alpha * self._times**_EARLY
        self._levels = _levels(tuple(self._times.tolist()), alpha)
        self._last_bound = float(stats.norm.ppf(1 - self._levels[-1] / 2))
        self._number = 0
        self._going: TruthTable | None = None

    def leave(self, going: TruthTable) -> None:
        """Go on with these of the comparisons only."""
        if self._going is not None:
            self._going = self._going[going]

    def pass_over(self) -> None:
        """A look at which nothing was judged."""
        self._number += 1

    def look(self, counts: Counts, places: Integers) -> LookResult:
        """The next look. ``places``: which of the scenarios the counts are of; others say nothing."""
        number = self._number
        self.pass_over()
        time, level = float(self._times[number]), float(self._levels[number])
        differences = differences_of(counts)
        p, shown = self._flipped(in_one_unit(differences, counts), places, self._spent[number])
        low, high = interval(differences, noise_of(counts), np.where(shown, 0.0, 1.0), level)
        effect = differences.mean(axis=1)
        error = _error(differences, noise_of(counts))
        return LookResult(
            effect=effect,
            p=p,
            low=low,
            high=high,
            shown=shown,
            may_be_shown=_crossing(np.abs(effect) / error, time, self._last_bound),
            may_pass=_crossing((effect + self._margin) / error, time, self._last_bound),
        )

    def _flipped(
        self, differences: Integers, places: Integers, spent: float
    ) -> tuple[Floats, TruthTable]:
        """p, and whether a difference is shown: of all assignments that were not called one before,
        the most extreme are called one now, as many as may be by now.
        """
        sums = np.abs(differences.astype(np.float32) @ self._signs[:, places].T)  # whole numbers
        if self._going is None:
            self._going = np.ones(sums.shape, dtype=np.bool_)
        gone, count = (~self._going).sum(axis=1), sums.shape[1]
        waiting = np.where(self._going, sums, np.float32(-1.0))
        room = np.floor(spent * count + 1e-9).astype(np.int64) - gone
        called = waiting > np.maximum(_ranked(waiting, room), 0)[:, None]
        as_far = (waiting >= sums[:, :1]).sum(axis=1)
        self._going &= ~called
        return (gone + as_far) / count, called[:, 0]


def _ranked(values: Singles, ranks: Integers) -> Singles:
    """Of each row the value that ``ranks`` others are larger than, or as large as."""
    most = int(ranks.max(initial=0)) + 1
    largest = -np.sort(np.partition(-values, most - 1, axis=1)[:, :most], axis=1)
    return np.asarray(np.take_along_axis(largest, ranks[:, None], axis=1)[:, 0], np.float32)


@lru_cache(maxsize=8)
def _assignments(scenarios: int) -> Singles:
    """(assignments, scenarios) of 1 and -1, the one that was seen first. A mirror image is left out:
    it is as far from zero.
    """
    if 2 ** (scenarios - 1) <= _ASSIGNMENTS:
        numbers = np.arange(2 ** (scenarios - 1))[:, None]
        return np.asarray(1 - 2 * (numbers >> np.arange(scenarios) & 1), np.float32)
    drawn = np.random.default_rng(0).choice([-1, 1], size=(_ASSIGNMENTS, scenarios))
    drawn[0] = 1
    return drawn.astype(np.float32)


def _error(differences: Floats, noise: float) -> Floats:
    """Standard error of the mean, with the interval's two imagined scenarios."""
    count = differences.shape[1] + 2
    mean = differences.sum(axis=1) / count
    spread = ((differences**2).sum(axis=1) + noise) / count - mean**2
    return np.asarray(np.sqrt(spread / count))


def _crossing(z: Floats, time: float, bound: float) -> Floats:
    """Chance that what is ``z`` standard errors from zero now is beyond ``bound`` at the end, if what
    is still to come is like what was seen: conditional power under the trend.
    """
    if time >= 1:
        return np.asarray(z >= bound, dtype=np.float64)
    ahead = (z / math.sqrt(time) - bound) / math.sqrt(1 - time)
    return np.asarray(stats.norm.cdf(ahead))


_STEPS = np.linspace(-8.0, 8.0, 1601)
"""Where the density of a random walk is kept."""


@lru_cache(maxsize=32)
def _levels(times: tuple[float, ...], alpha: float) -> Floats:
    """Level of the interval at each look: two-sided, O'Brien and Fleming's spending, by recursion."""
    bound = stats.norm.ppf(1 - alpha / 2)
    spent = 2 * stats.norm.sf(bound / np.sqrt(np.asarray(times)))
    density, before, gone, found = None, 0.0, 0.0, []
    for time, may in zip(times, spent, strict=True):
        kernel = stats.norm.pdf(_STEPS, scale=math.sqrt(time - before)) * 0.01
        density = kernel if density is None else np.convolve(density, kernel, "same")
        outside = np.cumsum((density + density[::-1])[: len(_STEPS) // 2])
        place = int(np.searchsorted(outside, may - gone, side="right"))
        found.append(2 * float(stats.norm.cdf(_STEPS[place] / math.sqrt(time))))
        gone += float(outside[place - 1]) if place else 0.0
        density = np.where(np.abs(_STEPS) >= abs(_STEPS[place]) + 0.005, 0.0, density)
        before = time
    return np.asarray(found)
