"""How far a judge agrees with people who labelled the same answers."""

from typing import Literal

from harness.domain.assessment import State
from harness.domain.record import Record


class Interval(Record):
    """A 95 % confidence interval."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""


class Agreement(Record):
    """How far a judge agrees with labels, over one criterion or several."""

    both_met: int
    """Label and judge say met."""
    only_label: int
    """The label says met, the judge does not: a miss."""
    only_judge: int
    """The judge says met, the label does not: a false alarm."""
    neither: int
    """Both say not met."""
    unassessed: int
    """Labels that the judge did not assess; they count in no other figure."""
    share: float | None
    """Share of labels on which they agree; ``None`` where nothing was assessed."""
    share_interval: Interval | None
    """Clopper-Pearson."""
    kappa: float | None
    """Cohen's kappa: agreement beyond chance; ``None`` where it is not measurable."""
    kappa_interval: Interval | None
    """Bootstrap over answers, since the labels of one answer are not independent."""

    @property
    def n(self) -> int:
        """Labels that the judge assessed."""
        return self.both_met + self.only_label + self.only_judge + self.neither


class CriterionAgreement(Record):
    """The same for one criterion of one scenario."""

    scenario: str
    """Id of the scenario."""
    criterion: str
    """Id of the criterion."""
    by: Literal["text", "both"]
    """What can decide it."""
    agreement: Agreement
    """Counts and figures."""


class JudgementGap(Record):
    """An answer whose words and whose code differ."""

    file: str
    """Name of the answer's file."""
    scenario: str
    """Id of the scenario."""
    criterion: str
    """Id of the criterion."""
    says: State
    """What the judge reads."""
    does: State
    """What execution shows."""
    quote: str | None
    """What was read, word for word."""


class SayDo(Record):
    """Criteria that both the text and the execution decided. Where they differ, execution is right."""

    compared: int
    """How often both decided."""
    gaps: tuple[JudgementGap, ...]
    """Where they differ."""


class Calibration(Record):
    """One judge, measured."""

    judge: str
    """Its name."""
    labels: str
    """The file with the labels."""
    answers: int
    """Answers that were read."""
    criteria: tuple[CriterionAgreement, ...]
    """In the order of the bank."""
    pooled: Agreement
    """All of them together."""
    say_do: SayDo | None = None
    """Text beside execution; ``None`` where the answers were not executed."""
