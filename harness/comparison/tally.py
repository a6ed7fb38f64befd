"""Counting. An inconclusive answer is no wrong answer: it is counted apart and shown."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from harness.comparison.paired import Counts
from harness.domain.comparison import Arm, OutcomeTally, ScenarioLine, ScenarioTrials

GoodOfAll = tuple[int, int]
"""How many are good, of how many."""


def tally(scenario: ScenarioTrials) -> OutcomeTally:
    """Outcomes of all trials of one scenario."""
    return OutcomeTally.model_validate(Counter(trial.outcome for trial in scenario.trials))


def total(arm: Arm) -> OutcomeTally:
    """Outcomes of all trials of an arm."""
    outcomes = (trial.outcome for scenario in arm.scenarios for trial in scenario.trials)
    return OutcomeTally.model_validate(Counter(outcomes))


def lines(old: Arm, new: Arm) -> tuple[ScenarioLine, ...]:
    """Every scenario of either arm, with the reason where it cannot be compared."""
    before = {scenario.scenario: tally(scenario) for scenario in old.scenarios}
    after = {scenario.scenario: tally(scenario) for scenario in new.scenarios}
    return tuple(
        ScenarioLine(
            scenario=name,
            old=before.get(name, OutcomeTally()),
            new=after.get(name, OutcomeTally()),
            dropped=_unjudged(old, before.get(name)) or _unjudged(new, after.get(name)),
        )
        for name in dict.fromkeys([*before, *after])
    )


def judged_counts(lines: Iterable[ScenarioLine]) -> Counts | None:
    """Right among judged trials, of the scenarios judged in both arms; ``None`` without any."""
    both = [(line.old, line.new) for line in lines]
    return pair_up([((o.right, o.judged), (n.right, n.judged)) for o, n in both])


def strict_counts(lines: Iterable[ScenarioLine]) -> Counts | None:
    """Right among answered trials: whatever is inconclusive counts as not right."""
    both = [(line.old, line.new) for line in lines]
    return pair_up([((o.right, o.answered), (n.right, n.answered)) for o, n in both])


def pair_up(shares: Sequence[tuple[GoodOfAll, GoodOfAll]]) -> Counts | None:
    """A batch of one, of the scenarios with a trial in both arms; ``None`` without any."""
    paired = [(old, new) for old, new in shares if old[1] and new[1]]
    if not paired:
        return None
    array = np.asarray(paired, dtype=np.int64)  # (scenarios, arm, right or of how many)
    return Counts(
        old=array[None, :, 0, 0],
        new=array[None, :, 1, 0],
        old_trials=array[:, 0, 1],
        new_trials=array[:, 1, 1],
    )


def _unjudged(arm: Arm, counted: OutcomeTally | None) -> str | None:
    if counted is None:
        return f"not asked in {arm.name}"
    return None if counted.judged else f"no trial of {arm.name} could be judged"
