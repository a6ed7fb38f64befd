"""The instrument against itself: how often equal skills are called different."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from scipy import stats

from harness.comparison.simulation import Situation, simulate, smallest_loss
from harness.domain.plan import EffectSeen, Rules
from harness.report.words import points, text

_RULES = Rules()


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """How often the comparison errs on equal skills, simulated many times."""

    name: str
    """Shape of the true rates."""
    rates: tuple[float, ...]
    """True rate of each scenario, the same in both arms."""
    trials: int
    """Trials of each scenario in each arm."""
    rules: Rules
    """What was fixed before looking."""
    comparisons: int
    """Simulated comparisons."""
    alarms: int
    """How many comparisons said better or worse."""
    upper: float
    """Upper end of the 95 % Clopper-Pearson interval of the share of false alarms."""
    stopped: int
    """How many the gate stopped (exit 1)."""
    passed: int
    """How many the gate let pass (exit 0)."""
    let_through: int
    """How many skills the gate let pass although they had lost the margin."""
    planned: EffectSeen | None
    """The smallest loss that the plan calls visible, and how often it would be shown."""
    measured: float | None
    """How often that loss was shown in as many comparisons, simulated with other random numbers."""

    @property
    def share(self) -> float:
        """False alarms among all comparisons."""
        return self.alarms / self.comparisons


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


def render_false_alarms(measured: Sequence[FalseAlarms], *, plain: bool = False) -> RenderableType:
    """One row for each shape of true rates."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in (
        "true rates",
        "bank",
        "false alarms (at most)",
        "gate 0 / 1 / 4",
        "margin lost: 0",
        "planned loss",
        "power planned",
        "measured",
    ):
        table.add_column(column, no_wrap=plain, overflow="fold")
    for one in measured:
        table.add_row(
            text(one.name),
            f"{len(one.rates)} x {one.trials}",
            f"{one.share:.1%} ({one.upper:.1%})",
            _gates(one),
            f"{one.let_through / one.comparisons:.1%}",
            *_power(one),
        )
    return table


def _gates(one: FalseAlarms) -> str:
    cannot_tell = one.comparisons - one.passed - one.stopped
    counts = (one.passed, one.stopped, cannot_tell)
    return " / ".join(f"{count / one.comparisons:.1%}" for count in counts)


def _power(one: FalseAlarms) -> tuple[str, str, str]:
    if one.planned is None or one.measured is None:
        return "none is shown", "", ""
    return points(one.planned.effect), f"{one.planned.power:.1%}", f"{one.measured:.1%}"
