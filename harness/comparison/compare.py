"""Two runs in, all that they show out. One line a step."""

from collections import Counter
from collections.abc import Sequence
from math import comb
from statistics import fmean

from harness.comparison.changes import changes, new_rationalizations
from harness.comparison.gate import gate
from harness.comparison.in_rounds import StoppedComparison, in_rounds
from harness.comparison.many_tests import tested
from harness.comparison.paired import Counts, estimate
from harness.comparison.simulation import Situation, reach
from harness.comparison.tally import judged_counts, lines, strict_counts, total
from harness.domain.comparison import Arm, Comparison, PassRates, ScenarioLine, Side
from harness.domain.errors import UsageError
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


def warnings_of(old: Arm, new: Arm, *, anyway: bool) -> tuple[str, ...]:
    """What speaks against comparing these two, one sentence each.

    Raises:
        UsageError: they are not comparable, and nobody asks for it all the same.
    """
    reasons = tuple(
        f"the {what} differ: {before} and {after}"
        for what, before, after in (
            ("models", old.model, new.model),
            ("banks", old.bank_digest, new.bank_digest),
            ("judges", old.judge, new.judge),
            ("harness versions", old.harness_version, new.harness_version),
        )
        if before != after
    )
    if reasons and not anyway:
        raise UsageError(
            f"{old.name} and {new.name} are not comparable: {'; '.join(reasons)}."
            " Ask one of them again as the other was asked, or compare them with --anyway"
        )
    return (*reasons, *_cautions(old, new))


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


def _passing(k: int, lines: Sequence[ScenarioLine]) -> PassRates:
    return PassRates(
        k=k,
        scenarios=len(lines),
        old_any=fmean(pass_at(k, line.old.right, line.old.judged) for line in lines),
        new_any=fmean(pass_at(k, line.new.right, line.new.judged) for line in lines),
        old_all=fmean(pass_all(k, line.old.right, line.old.judged) for line in lines),
        new_all=fmean(pass_all(k, line.new.right, line.new.judged) for line in lines),
    )


def _cautions(old: Arm, new: Arm) -> tuple[str, ...]:
    """Differences that can be meant, and that a reader has to know about."""
    said = [f"of {arm.name} {arm.missing}" for arm in (old, new) if arm.missing is not None]
    both_have_one = old.skill_digest is not None and new.skill_digest is not None
    if both_have_one and old.delivery != new.delivery:
        said.append(
            f"the skill was delivered in two ways ({old.delivery}, {new.delivery}):"
            " a difference may come from that"
        )
    if both_have_one and (old.skill_digest, old.delivery) == (new.skill_digest, new.delivery):
        said.append("both runs used the same skill: any difference is chance")
    if old.rounds != new.rounds:
        said.append(
            "only one of them was asked in rounds, or with another most: this is one look, and false"
            " alarms may be more frequent than it says"
        )
    if old.seed != new.seed:
        said.append(f"the workloads' seeds differ: {old.seed} and {new.seed}")
    return tuple(said)
