"""The figures of ``docs/statistics.md``: what intervals cover, how often the gate errs, what is seen."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy import stats

from benchmarks.false_alarms import false_alarms, render_false_alarms
from harness.comparison import plan, rounds_plan, shapes
from harness.comparison.paired import Counts, decide
from harness.domain.plan import Plan, Rules
from harness.report.console import plain_text
from harness.report.rounds import render_rounds_plan

COMPARISONS = 4000
LEVEL = 0.05

Ends = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator], Ends]
Situation = tuple[str, Draw, float]


def main() -> None:
    """Print all tables."""
    started = time.perf_counter()
    print("\ncoverage of 95 % intervals, the least and where; mean width")
    for scenarios, trials in ((6, 3), (10, 1), (10, 3), (10, 5), (10, 10), (20, 3)):
        print_coverage(f"{scenarios} x {trials}, this bank", fixed_banks(scenarios), trials)
    for trials in (1, 3, 5):
        print_coverage(f"10 x {trials}, scenarios drawn", drawn_banks(10), trials)
    print(f"\n{COMPARISONS} comparisons of equal skills, and of skills that differ as planned")
    rows = [
        false_alarms(name, rates, trials, comparisons=COMPARISONS)
        for scenarios, trials in ((10, 1), (10, 3), (10, 5), (10, 10), (30, 3))
        for name, rates in shapes(scenarios).items()
    ]
    print(plain_text(render_false_alarms(rows, plain=True)))
    print("\nsmallest loss shown 80 % of the time, from 50 % right (gate 0 of unchanged skills)")
    for scenarios in (6, 10, 15, 20, 30):
        print(f"  {scenarios} scenarios: {', '.join(map(_seen, _plans(scenarios)))}")
    print_rounds()
    print(f"\nall of this took {time.perf_counter() - started:.0f} s")


def print_rounds() -> None:
    """Comparisons that may stop early, beside a plan with one look that sees as much."""
    for scenarios, most in ((10, 6), (10, 10), (10, 12), (20, 6), (30, 6)):
        print()
        plan = rounds_plan(scenarios, most, rules=Rules(simulations=COMPARISONS))
        print(plain_text(render_rounds_plan(plan, plain=True)))


def print_coverage(title: str, situations: Iterable[Situation], trials: int) -> None:
    """One line a method."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    for name, draw, target in situations:
        counts, differences = asked(draw, trials)
        for method, (low, high) in intervals(counts, differences).items():
            covered = float(((low - 1e-9 <= target) & (target <= high + 1e-9)).mean())
            width = float((np.minimum(high, 1) - np.maximum(low, -1)).mean())
            found.setdefault(method, []).append((covered, width, name))
    for method, rows in found.items():
        worst, _, where = min(rows)
        width = float(np.mean([row[1] for row in rows]))
        short = sum(row[0] < 1 - LEVEL for row in rows)
        print(
            f"  {title:26} {method:20} {worst:.3f} ({where}), below .95 in {short} of {len(rows)};"
            f" width {width:.2f}"
        )


def fixed_banks(scenarios: int) -> Iterator[Situation]:
    """Name, true rates of both arms, true effect: the same scenarios every time."""
    for shape, rates in (shapes(scenarios) | {"at the top": (0.99,) * scenarios}).items():
        old = np.asarray(rates)
        for change, new in changed(old).items():
            yield f"{shape}, {change}", _always(old, new), float((new - old).mean())


def drawn_banks(scenarios: int) -> Iterator[Situation]:
    """New scenarios every time, of which the change wipes out some wholly."""
    for a, b in ((0.5, 0.5), (4, 1), (2, 2), (50, 0.5)):
        for lost in (0.0, 0.1, 0.2, 0.5):
            target = -lost * a / (a + b)
            name = f"rates from Beta({a:g}, {b:g}), {lost:.0%} of the scenarios lost"
            yield name, _drawn(a, b, lost, scenarios), target


def changed(old: np.ndarray) -> dict[str, np.ndarray]:
    """True rates after a change, by what it is."""
    every_other, last = old.copy(), old.copy()
    every_other[::2] = 0.02
    last[-1] = 0.0
    return {
        "no change": old,
        "20 % lost": old * 0.8,
        "half lost": old * 0.5,
        "90 % lost": old * 0.1,
        "half won": 1 - (1 - old) * 0.5,
        "every other scenario lost": every_other,
        "one scenario lost": last,
    }


def asked(draw: Draw, trials: int) -> tuple[Counts, np.ndarray]:
    """Answers to both arms, and differences of the rates."""
    rng = np.random.default_rng(2)
    old, new = (np.atleast_2d(rates) for rates in draw(rng))
    shape = (COMPARISONS, old.shape[1])
    many = np.full(old.shape[1], trials)
    counts = Counts(rng.binomial(trials, old, shape), rng.binomial(trials, new, shape), many, many)
    return counts, (counts.new - counts.old) / trials


def intervals(counts: Counts, differences: np.ndarray) -> dict[str, Ends]:
    """Ours and what one would try first."""
    decisions = decide(counts, LEVEL)
    scenarios = differences.shape[1]
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / np.sqrt(scenarios)
    half = stats.t.ppf(1 - LEVEL / 2, scenarios - 1) * error
    found = {
        "ours": (decisions.low, decisions.high),
        "Student's t": (mean - half, mean + half),
        "percentile bootstrap": bootstrap(differences),
    }
    return found | ({"sign flip inverted": inverted(differences)} if scenarios <= 10 else {})


def bootstrap(differences: np.ndarray) -> Ends:
    """Scenarios drawn with replacement, 500 times, the same draws for every comparison."""
    count = differences.shape[1]
    weights = np.random.default_rng(3).multinomial(count, np.full(count, 1 / count), 500) / count
    low, high = np.quantile(differences @ weights.T, [LEVEL / 2, 1 - LEVEL / 2], axis=1)
    return low, high


def inverted(differences: np.ndarray) -> Ends:
    """Every shift that the exact test does not reject: order statistics of all subset means."""
    count = differences.shape[1]
    subsets = np.array(list(itertools.product((0.0, 1.0), repeat=count)))[1:]
    means = np.sort(differences @ (subsets / subsets.sum(axis=1, keepdims=True)).T, axis=1)
    rank = int(LEVEL / 2 * 2**count)
    return (means[:, rank - 1], means[:, -rank]) if rank else (means[:, 0] - 2, means[:, 0] + 2)


def _always(old: np.ndarray, new: np.ndarray) -> Draw:
    return lambda _: (old, new)


def _drawn(a: float, b: float, lost: float, scenarios: int) -> Draw:
    def draw(rng: np.random.Generator) -> Ends:
        old = rng.beta(a, b, (COMPARISONS, scenarios))
        return old, old * (rng.random((COMPARISONS, scenarios)) >= lost)

    return draw


def _plans(scenarios: int) -> Iterator[tuple[int, Plan]]:
    yield from ((trials, plan(scenarios, trials)) for trials in (1, 3, 5, 10))


def _seen(planned: tuple[int, Plan]) -> str:
    trials, one = planned
    loss = f"{one.reach.loss.effect:.0%}" if one.reach.loss else "none"
    return f"{trials} trials: {loss} (gate {one.passed:.0%})"


if __name__ == "__main__":
    main()
