"""One answer beside its scenario's rubric."""

from harness.domain.assessment import CriterionState, Rationalized
from harness.domain.scenario import Scenario
from harness.domain.transcript import Transcript
from harness.rubric.execution import Runs, executed
from harness.rubric.judge import TextJudge
from harness.rubric.lexical import rationalizations
from harness.rubric.merging import merge, needs_reader


def assess(
    transcript: Transcript, scenario: Scenario, runs: Runs, judge: TextJudge
) -> tuple[dict[str, CriterionState], tuple[Rationalized, ...]]:
    """Each criterion by its id, in the order of the rubric, and the excuses that were made.

    ``runs``: the verdicts of each program that the answer proposes; none where it has no code. Only
    what execution leaves open is read, and an answer without words is not read at all.

    Raises:
        UserError: the judge cannot be asked.
    """
    answer = transcript.answer
    shown = {criterion.id: executed(criterion, runs) for criterion in scenario.rubric}
    open_ = [c for c in scenario.rubric if answer.strip() and needs_reader(c, shown[c.id])]
    read = judge.assess(answer, scenario, open_) if open_ else {}
    states = {c.id: merge(c, shown[c.id], read.get(c.id)) for c in scenario.rubric}
    return states, rationalizations(answer, scenario) if judge.name != "none" else ()
