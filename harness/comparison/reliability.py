"""Right at least once in k trials, or every time: unbiased estimates from n of them."""

from collections.abc import Sequence
from math import comb
from statistics import fmean

from harness.domain.comparison import PassRates, ScenarioLine


def pass_at(k: int, right: int, trials: int) -> float:
    """pass@k: chance that k trials drawn from these hold at least one that is right."""
    return 1 - comb(trials - right, k) / comb(trials, k)


def pass_all(k: int, right: int, trials: int) -> float:
    """pass^k: chance that k trials drawn from these are all right."""
    return comb(right, k) / comb(trials, k)


def passing(scenarios: Sequence[ScenarioLine]) -> tuple[PassRates, ...]:
    """For each k, the mean over the scenarios with as many judged trials in both arms."""
    known = [min(line.old.judged, line.new.judged) for line in scenarios]
    return tuple(
        _passing(k, [line for line, trials in zip(scenarios, known, strict=True) if trials >= k])
        for k in range(1, max(known, default=0) + 1)
    )


def _passing(k: int, lines: Sequence[ScenarioLine]) -> PassRates:
    return PassRates(
        k=k,
        scenarios=len(lines),
        old_any=fmean(pass_at(k, line.old.right, line.old.judged) for line in lines),
        new_any=fmean(pass_at(k, line.new.right, line.new.judged) for line in lines),
        old_all=fmean(pass_all(k, line.old.right, line.old.judged) for line in lines),
        new_all=fmean(pass_all(k, line.new.right, line.new.judged) for line in lines),
    )
