"""Puts together what execution shows and what a reader says. Pure."""

from harness.domain.assessment import Assessment, CriterionState, State
from harness.domain.scenario import Criterion

_NOTHING_RAN = "no program showed it either way"


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
