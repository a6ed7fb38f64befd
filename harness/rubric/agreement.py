"""Agreement of two readers, with what it is worth. Pure."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.domain.calibration import Agreement, Interval

FEWEST = 5
"""Least number of labels of either class from which on kappa is reported."""
_RESAMPLES = 2000

Pair = tuple[bool, bool | None]
"""A label and the judgement beside it; ``None`` where the judge gave none."""


def agreement(answers: Sequence[Sequence[Pair]]) -> Agreement:
    """How well judgements agree with labels: counts, kappa and its interval. ``answers``: the pairs of
    each answer, which are resampled together.
    """
    tables = np.array([_table(pairs) for pairs in answers], dtype=float).reshape(-1, 4)
    both_met, only_label, only_judge, neither = (int(count) for count in tables.sum(axis=0))
    total = both_met + only_label + only_judge + neither
    agreeing = both_met + neither
    measurable = min(both_met + only_label, only_judge + neither) >= FEWEST
    return Agreement(
        both_met=both_met,
        only_label=only_label,
        only_judge=only_judge,
        neither=neither,
        unassessed=sum(judged is None for pairs in answers for _, judged in pairs),
        share=agreeing / total if total else None,
        share_interval=_clopper_pearson(agreeing, total) if total else None,
        kappa=float(_kappa(tables.sum(axis=0))) if measurable else None,
        kappa_interval=_bootstrap(tables) if measurable else None,
    )


def _table(pairs: Sequence[Pair]) -> tuple[int, int, int, int]:
    assessed = [pair for pair in pairs if pair[1] is not None]
    cells = ((True, True), (True, False), (False, True), (False, False))
    first, second, third, fourth = (assessed.count(cell) for cell in cells)
    return first, second, third, fourth


def _kappa(tables: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cohen's kappa of each 2 by 2 table (last axis); NaN where both readers used one class only."""
    a, b, c, d = np.moveaxis(tables, -1, 0)
    total = a + b + c + d
    observed = (a + d) / total
    chance = ((a + b) * (a + c) + (c + d) * (b + d)) / total**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((observed - chance) / (1.0 - chance))


def _bootstrap(tables: npt.NDArray[np.float64]) -> Interval:
    """The 2.5 and 97.5 percentiles of kappa over resampled answers, from a fixed seed."""
    count = len(tables)
    weights = np.random.default_rng(0).multinomial(count, [1.0 / count] * count, size=_RESAMPLES)
    low, high = np.nanpercentile(_kappa(weights @ tables), [2.5, 97.5])
    return Interval(low=float(low), high=float(high))


def _clopper_pearson(successes: int, trials: int) -> Interval:
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(method="exact")
    return Interval(low=float(interval.low), high=float(interval.high))
