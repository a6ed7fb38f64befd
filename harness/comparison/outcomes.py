"""Everything about one answer that came out well or badly, in one form."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from harness.domain.comparison import ScenarioTrials, TrialOutcome
from harness.domain.verdict import Verdict

OutcomeKind = Literal["code", "property", "criterion"]


@dataclass(frozen=True, slots=True)
class OutcomeMark:
    """One thing about one answer."""

    kind: OutcomeKind
    """The code as a whole, one property or one line of the rubric."""
    name: str
    """Its id."""
    trial: int
    """Number of the trial."""
    good: bool
    """Right, passed or met; else wrong, failed or not met."""
    verdict: Verdict | None = None
    """What the property says."""


def marks(scenario: ScenarioTrials) -> Iterator[OutcomeMark]:
    """All that was judged; what could not be judged has no mark."""
    for trial in scenario.trials:
        yield from _of_trial(trial)


def _of_trial(trial: TrialOutcome) -> Iterator[OutcomeMark]:
    if trial.outcome in ("right", "wrong"):
        yield OutcomeMark("code", "code", trial.trial, trial.outcome == "right")
    for verdict in trial.verdicts:
        if verdict.outcome != "inconclusive":
            good = verdict.outcome == "pass"
            yield OutcomeMark("property", verdict.property, trial.trial, good, verdict)
    for name, state in trial.criteria.items():
        if state != "unassessed":
            yield OutcomeMark("criterion", name, trial.trial, state == "met")
