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
    """A judge beside labels, over one criterion or over many."""

    both_met: int
    """Label and judge say met."""
    only_label: int
    """The label says met, the judge does not: missed."""
    only_judge: int
    """The judge says met, the label does not: taken for met."""
    neither: int
    """Both say not met."""
    unassessed: int
    """Labels on which the judge says nothing; they count nowhere else."""
    share: float | None
    """Share on which they agree; ``None`` where nothing was assessed."""
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


class Gap(Record):
    """An answer that says one thing and does another."""

    file: str
    """The answer."""
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
    """Criteria that both text and execution decided. Execution is right where they differ."""

    compared: int
    """How often both decided."""
    gaps: tuple[Gap, ...]
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
