"""Many tests at once: every scenario and every property, under one error rate.

What could never fall below alpha, however it came out, is not tested: it would only make the
others harder to show.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from scipy import stats

from harness.comparison.changes import in_both
from harness.comparison.outcomes import marks
from harness.comparison.paired import estimate
from harness.comparison.tally import GoodOfAll, pair_up
from harness.domain.comparison import Arm, OutcomeTally, PropertyLine, ScenarioLine, ScenarioTrials

_Shares = list[tuple[GoodOfAll, GoodOfAll]]
"""How often one property passed, old and new, a pair for each scenario."""


def tested(
    scenarios: Sequence[ScenarioLine], old: Arm, new: Arm, alpha: float
) -> tuple[tuple[ScenarioLine, ...], tuple[PropertyLine, ...]]:
    """Every line with its p and, after Holm over all of them, the adjusted one."""
    shares = sorted(_shares(old, new).items())
    found = [_fisher(line.old, line.new, alpha) for line in scenarios]
    found += [_sign_flip(pairs, alpha) for _, pairs in shares]
    adjusted = _adjusted(found)
    count = len(scenarios)
    lines = tuple(
        line.model_copy(update={"p": p, "adjusted": a})
        for line, p, a in zip(scenarios, found, adjusted, strict=False)
    )
    rest = zip(shares, found[count:], adjusted[count:], strict=True)
    return lines, tuple(_line(name, pairs, p, a) for (name, pairs), p, a in rest)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down: adjusted p values, in the order given."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * factors))
    return [float(p) for p in adjusted]


def _adjusted(found: Sequence[float | None]) -> list[float | None]:
    """Holm over those that were tested; the others stay as they are."""
    values = iter(holm([p for p in found if p is not None]))
    return [None if p is None else next(values) for p in found]


def _shares(old: Arm, new: Arm) -> dict[str, _Shares]:
    found: dict[str, _Shares] = defaultdict(list)
    for before, after in in_both(old, new):
        then, now = _passes(before), _passes(after)
        for name in then.keys() & now.keys():
            found[name].append((then[name], now[name]))
    return found


def _passes(scenario: ScenarioTrials) -> dict[str, GoodOfAll]:
    """Of each property that passed or failed at least once."""
    good: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    for mark in marks(scenario):
        if mark.kind == "property":
            good[mark.name] += mark.good
            judged[mark.name] += 1
    return {name: (good[name], judged[name]) for name in judged}


def _fisher(old: OutcomeTally, new: OutcomeTally, alpha: float) -> float | None:
    """Exact test of one scenario's trials. Three against three can never be below one in ten."""
    extremes = 2 if old.judged == new.judged else 1
    if extremes / math.comb(old.judged + new.judged, old.judged) > alpha:
        return None
    table = [[old.right, old.wrong], [new.right, new.wrong]]
    return float(stats.fisher_exact(table).pvalue)


def _sign_flip(pairs: _Shares, alpha: float) -> float | None:
    counts = pair_up(pairs)
    if counts is None or 2.0 ** (1 - len(pairs)) > alpha:
        return None
    return estimate(counts, alpha).p


def _line(name: str, pairs: _Shares, p: float | None, adjusted: float | None) -> PropertyLine:
    return PropertyLine(
        property=name,
        scenarios=len(pairs),
        old=sum(good / judged for (good, judged), _ in pairs) / len(pairs),
        new=sum(good / judged for _, (good, judged) in pairs) / len(pairs),
        p=p,
        adjusted=adjusted,
    )
