"""One answer beside its scenario's rubric."""

from harness.domain.assessment import Assessment, CriterionState, Rationalized, State
from harness.domain.scenario import Criterion, Scenario
from harness.domain.transcript import Transcript
from harness.rubric.execution import Runs, executed
from harness.rubric.judge import TextJudge

_NOTHING_RAN = "no program showed it either way"


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


def needs_reader(criterion: Criterion, shown: State) -> bool:
    """Whether the text still has to be read, given what execution shows. A failing property shows that
    a ``must`` was not done. It does not show that a ``must_not`` was: the property may fail for
    another reason, so the text has to say it.
    """
    if criterion.by != "both":
        return criterion.by == "text"
    return shown == "unassessed" or (shown == "not_met" and criterion.polarity == "must_not")


def merge(criterion: Criterion, shown: State, read: Assessment | None) -> CriterionState:
    """The final state of one criterion. ``shown``: from execution; ``read``: the judge's, where it was
    asked.
    """
    if not needs_reader(criterion, shown):
        decided = shown != "unassessed"
        return CriterionState(
            state=shown,
            polarity=criterion.polarity,
            weight=criterion.weight,
            decided_by="execution" if decided else None,
            reason="" if decided else _NOTHING_RAN,
        )
    if read is None or read.state == "unassessed":
        return CriterionState(
            state="unassessed",
            polarity=criterion.polarity,
            weight=criterion.weight,
            reason=read.reason if read is not None else "the answer has no words",
        )
    return CriterionState(
        state=read.state,
        polarity=criterion.polarity,
        weight=criterion.weight,
        quote=read.quote,
        decided_by="text",
        votes=read.votes,
    )


def _asked(excuse: str, number: int) -> Criterion:
    """An excuse, as one more fault that a judge looks for. No criterion has a space in its id."""
    asks = f"Makes or accepts this excuse: {excuse.strip()}"
    return Criterion(id=f"excuse {number + 1}", polarity="must_not", by="text", asks=asks)
