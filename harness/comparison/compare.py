"""Two runs in, all that they show out. One line a step."""

from collections import Counter

from harness.comparison.changes import changes, new_rationalizations
from harness.comparison.comparability import warnings_of
from harness.comparison.gate import gate
from harness.comparison.in_rounds import StoppedComparison, in_rounds
from harness.comparison.many_tests import tested
from harness.comparison.paired import Counts, estimate
from harness.comparison.reliability import passing
from harness.comparison.simulation import Situation, reach
from harness.comparison.tally import judged_counts, lines, strict_counts, total
from harness.domain.comparison import Arm, Comparison, Side
from harness.domain.plan import Reach, Rules

_RULES = Rules()


def compare(old: Arm, new: Arm, rules: Rules = _RULES, *, anyway: bool = False) -> Comparison:
    """The new arm against the old one.

    ``anyway``: compare what differs in more than the skill, with warnings. Arms that were asked in
    rounds are looked at as often as they were: one look at the end would be taken as if it were the
    first.

    Raises:
        UsageError: the arms are not comparable.
    """
    warnings = warnings_of(old, new, anyway=anyway)
    if old.rounds is not None and old.rounds == new.rounds:
        stopped = in_rounds(old, new, old.rounds, rules)
        return _of(stopped, rules, warnings)
    scenarios = lines(old, new)
    judged, strict = judged_counts(scenarios), strict_counts(scenarios)
    decisive = estimate(judged, rules.alpha) if judged else None
    severe = estimate(strict, rules.alpha) if strict else None
    return _of(StoppedComparison(old, new, decisive, severe, None), rules, warnings)


def _of(found: StoppedComparison, rules: Rules, warnings: tuple[str, ...]) -> Comparison:
    old, new = found.old, found.new
    scenarios, properties = tested(lines(old, new), old, new, rules.alpha)
    judged = judged_counts(scenarios)
    return Comparison(
        old=_side(old),
        new=_side(new),
        rules=rules,
        warnings=warnings,
        estimate=found.judged,
        strict=found.strict,
        reach=_reach(judged, rules) if judged else None,
        gate=gate(found.judged, found.strict, scenarios, rules),
        passing=passing(scenarios),
        scenarios=scenarios,
        properties=properties,
        changes=changes(old, new),
        rationalizations=new_rationalizations(old, new),
        rounds=found.rounds,
    )


def _side(arm: Arm) -> Side:
    said = (one.skill_triggered for scenario in arm.scenarios for one in scenario.trials)
    read = Counter(one for one in said if one is not None)
    return Side(
        name=arm.name,
        skill_digest=arm.skill_digest,
        model=arm.model,
        delivery=arm.delivery,
        tally=total(arm),
        skill_triggered=dict(sorted(read.items())),
    )


def _reach(counts: Counts, rules: Rules) -> Reach:
    """What these trials could have shown, at the rates that both arms together suggest.

    Half a right and half a wrong answer are added, so that never in six is not taken for never.
    """
    right = counts.old[0] + counts.new[0]
    rates = (right + 0.5) / (counts.old_trials + counts.new_trials + 1)
    return reach(Situation(rates, counts.old_trials, counts.new_trials), rules)
