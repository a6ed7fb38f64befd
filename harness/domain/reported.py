"""What ``grade --json`` and ``report --format json`` write, for programs."""

from typing import Self

from harness.domain.answer import AnswerGrade
from harness.domain.assessment import CriterionState
from harness.domain.comparison import Comparison, OutcomeTally
from harness.domain.grade import Code
from harness.domain.own import OwnSettings
from harness.domain.record import Record
from harness.domain.stored import RunHead
from harness.domain.transcript import SkillRead


class AnswerLine(Record):
    """One answer, in short."""

    file: str
    """The file, and which part of it if it holds several answers; for an asked agent, the question."""
    scenario: str | None
    """Id of the scenario; ``null`` when it is not known."""
    code: Code
    """Judgement of the code."""
    failed: tuple[str, ...]
    """Ids of the properties that fail and count."""
    advisory: tuple[str, ...]
    """Ids of the properties that fail and do not count."""
    why: tuple[str, ...]
    """The reasons for its judgement, one sentence each."""
    notes: tuple[str, ...] = ()
    """What a reader should know besides: which branches no probe entered."""
    settings: OwnSettings | None = None
    """What the program sets out to do, where it was judged by that; ``null`` with a scenario."""
    lent: tuple[str, ...] = ()
    """What was lent to it then."""
    criteria: dict[str, CriterionState]
    """Each line of the rubric, by its id."""
    error: str | None
    """Why it could not be graded."""
    skill_triggered: SkillRead | None = None
    """Whether it opened the skill; ``null`` where there was none to open."""

    @classmethod
    def of(cls, answer: AnswerGrade) -> Self:
        """The line of one answer."""
        deciding = answer.deciding if answer.alternatives else None
        return cls(
            file=answer.file,
            scenario=answer.scenario,
            code=answer.code,
            failed=answer.failed,
            advisory=answer.advisory,
            why=answer.reasons,
            notes=answer.notes,
            settings=deciding.settings if deciding is not None else None,
            lent=deciding.lent if deciding is not None else (),
            criteria=answer.criteria,
            error=answer.error,
            skill_triggered=answer.skill_triggered,
        )


class ReportedRun(Record):
    """One run of a report."""

    name: str
    """Its name for readers."""
    head: RunHead
    """How it was made."""
    tally: OutcomeTally
    """How many answers got which judgement."""
    answers: tuple[AnswerLine, ...]
    """Every answer, scenario by scenario."""


class RunReport(Record):
    """A report as data."""

    schema_version: int = 1
    """Version of this record. 1: first."""
    runs: tuple[ReportedRun, ...]
    """One run, or two; for a bank that was checked against itself, its two sides."""
    comparison: Comparison | None
    """What two runs show beside each other; ``None`` for one run."""
    notes: tuple[str, ...]
    """What a reader should know, one sentence each."""
