"""The full skill against itself without each of its sections, under one error rate for all of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from harness.comparison.compare import compare
from harness.comparison.tally import total
from harness.domain.comparison import (
    Ablated,
    Ablation,
    Arm,
    Comparison,
    OutcomeTally,
    ScenarioLine,
    SectionInScenario,
    SectionLine,
)
from harness.domain.plan import Rules


@dataclass(frozen=True, slots=True)
class SectionLeftOut:
    """A section, and what was answered without it."""

    title: str
    """The heading."""
    name: str
    """As a link names it."""
    lines: int
    """How many lines of the page it is."""
    arm: Arm
    """What was answered."""
    covers: tuple[str, ...] = ()
    """What a table says that it covers."""
    scenarios: frozenset[str] = frozenset()
    """Ids of scenarios that the table names beside it."""


def corrected(rules: Rules, questions: int) -> Rules:
    """The rules for each of several questions, so that all together err no more often than one."""
    return rules.model_copy(update={"alpha": rules.alpha / questions})


def ablation(
    skill: str, full: Arm, parts: Sequence[SectionLeftOut], rules: Rules, *, anyway: bool = False
) -> Ablation:
    """What each section is for. ``rules``: as for one of them, ``corrected``.

    Raises:
        UsageError: the runs are not comparable.
    """
    return Ablation(
        skill=skill,
        rules=rules,
        full=total(full),
        sections=tuple(
            _section(one, compare(full, one.arm, rules, anyway=anyway)) for one in parts
        ),
    )


def _section(part: SectionLeftOut, found: Comparison) -> SectionLine:
    alpha = found.rules.alpha / max(1, len(found.scenarios))
    asked = max((len(one.trials) for one in part.arm.scenarios), default=0)
    return SectionLine(
        title=part.title,
        name=part.name,
        lines=part.lines,
        says=_says(found),
        estimate=found.estimate,
        trials=found.rounds.trials if found.rounds else asked,
        covers=part.covers,
        scenarios=tuple(
            SectionInScenario(
                scenario=line.scenario,
                full=line.old,
                left_out=line.new,
                says=_in_scenario(line, alpha, found.rules.margin),
                covered=line.scenario in part.scenarios,
            )
            for line in found.scenarios
        ),
    )


_OF_TEST: Mapping[str, Ablated] = {"worse": "lost", "better": "better without it"}


def _says(found: Comparison) -> Ablated:
    if found.says in _OF_TEST:
        return _OF_TEST[found.says]
    return "kept" if found.gate.code == 0 else "inconclusive"


def _in_scenario(line: ScenarioLine, alpha: float, margin: float) -> Ablated:
    full, left_out = line.old, line.new
    if not full.judged or not left_out.judged:
        return "inconclusive"
    table = [[full.right, full.wrong], [left_out.right, left_out.wrong]]
    if float(stats.fisher_exact(table).pvalue) <= alpha:
        return "lost" if (left_out.rate or 0.0) < (full.rate or 0.0) else "better without it"
    return "kept" if _lowest(full, left_out, alpha) > -margin else "inconclusive"


def _lowest(full: OutcomeTally, left_out: OutcomeTally, alpha: float) -> float:
    """Lower end of the difference: one right and one wrong answer are added to each side (Agresti and
    Caffo, Am. Stat. 54, 2000, 280-288).
    """
    rates = [((one.right + 1) / (one.judged + 2), one.judged + 2) for one in (full, left_out)]
    error = math.sqrt(sum(rate * (1 - rate) / count for rate, count in rates))
    return rates[1][0] - rates[0][0] - float(stats.norm.ppf(1 - alpha / 2)) * error
