"""One answer beside its scenario's rubric."""

from harness.domain.assessment import CriterionState, Rationalized
from harness.domain.scenario import Criterion, Scenario
from harness.domain.transcript import Transcript
from harness.rubric.execution import Runs, executed
from harness.rubric.judge import TextJudge
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
    open_ = [c for c in scenario.rubric if needs_reader(c, shown[c.id])]
    excuses = [_asked(line.excuse, number) for number, line in enumerate(scenario.rationalizations)]
    asked = [*open_, *excuses] if answer.strip() else []
    read = judge.assess(answer, scenario, asked) if asked else {}
    states = {c.id: merge(c, shown[c.id], read.get(c.id)) for c in scenario.rubric}
    made = []
    for criterion, line in zip(excuses, scenario.rationalizations, strict=True):
        said = read.get(criterion.id)
        if said is not None and said.state == "not_met" and said.quote:
            made.append(Rationalized(excuse=line.excuse, instead=line.instead, quote=said.quote))
    return states, tuple(made)


def _asked(excuse: str, number: int) -> Criterion:
    """An excuse, as one more fault that a judge looks for. No criterion has a space in its id."""
    asks = f"Makes or accepts this excuse: {excuse.strip()}"
    return Criterion(id=f"excuse {number + 1}", polarity="must_not", by="text", asks=asks)
