"""What execution says about the rubric: criteria that name properties are decided by verdicts."""

from collections.abc import Sequence

from harness.domain.assessment import State
from harness.domain.scenario import Criterion
from harness.domain.verdict import Verdict

Runs = Sequence[tuple[Verdict, ...]]
"""For each program that the answer proposes, its verdicts."""


def executed(criterion: Criterion, runs: Runs) -> State:
    """Met when all its properties pass in every program, not met when one fails in any."""
    if criterion.by == "text" or not criterion.properties or not runs:
        return "unassessed"
    outcomes = {v.outcome for run in runs for v in run if v.property in criterion.properties}
    if "fail" in outcomes:
        return "not_met"
    judged = all(set(criterion.properties) <= {v.property for v in run} for run in runs)
    return "met" if judged and outcomes == {"pass"} else "unassessed"
