"""One answer out of a file, graded: what ``harness grade`` says about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from harness.domain.assessment import CriterionState, Rationalized
from harness.domain.grade import Code, Grade, write_grade
from harness.domain.outcome import Fault
from harness.domain.record import Record
from harness.domain.scenario import Scenario


class Alternative(Record):
    """One of the programs that an answer proposes."""

    origin: str
    """Where it stands in the answer."""
    program: str
    """What was taken out of the answer."""
    as_run: str = ""
    """Exactly what was run: what its names were bound to, as comments, and its code."""
    grade: Grade
    """What came of it."""
    story: tuple[str, ...] = ()
    """Where a failure has a place: what happened there, in order, one line an event."""


Turn = Literal["first", "second"]
"""``second``: what came only after a runnable form was asked for."""


def code_of_alternatives(alternatives: Sequence[Alternative]) -> Code:
    """Wrong when any is wrong; otherwise what the first one is."""
    if not alternatives:
        return "none"
    wrong = any(a.grade.code == "wrong" for a in alternatives)
    return "wrong" if wrong else alternatives[0].grade.code


class AnswerGrade(Record):
    """What is said about one answer."""

    file: str
    """The file, and which part of it where it holds several."""
    scenario: str | None = None
    """Id of the scenario; ``None`` when it is not known."""
    how: str = ""
    """How the scenario was found, where nobody said it."""
    alternatives: tuple[Alternative, ...] = ()
    """What it proposes; none where there is no code."""
    no_code: str | None = None
    """Why there is no code."""
    criteria: dict[str, CriterionState] = Field(default_factory=dict)
    """Each line of the rubric, by its id."""
    rationalizations: tuple[Rationalized, ...] = ()
    """Excuses of the scenario's table that were found in it."""
    turn: Turn = "first"
    """Up to which turn the programs were proposed."""
    repaired_on_request: bool = False
    """Whether a wrong program became right once a runnable form was asked for."""
    error: str | None = None
    """Why it could not be graded, in one sentence."""

    @property
    def code(self) -> Code:
        """Wrong when any alternative is wrong; otherwise what the first one is."""
        return "none" if self.error is not None else code_of_alternatives(self.alternatives)

    @property
    def deciding(self) -> Alternative:
        """The alternative that decides: the first wrong one, else the first."""
        return next((a for a in self.alternatives if a.grade.code == "wrong"), self.alternatives[0])

    def as_grade(self, scenario: Scenario, agent: str) -> Grade | None:
        """The grade that decides; ``None`` where a fault of ours left none."""
        if self.no_code is not None:
            return write_grade(scenario, agent, (), reason=self.no_code)
        return self.deciding.grade if self.alternatives else None

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the properties that fail and count, in any alternative."""
        return tuple(dict.fromkeys(p for a in self.alternatives for p in a.grade.failed))

    @property
    def advisory(self) -> tuple[str, ...]:
        """Ids of the properties that fail and flip nothing."""
        failing = (
            v.property
            for a in self.alternatives
            for v in a.grade.verdicts
            if v.outcome == "fail" and v.property in a.grade.advisory
        )
        return tuple(dict.fromkeys(failing))

    @property
    def why(self) -> tuple[str, ...]:
        """One sentence for each thing that made it what it is."""
        if self.no_code is not None:
            return (self.no_code,)
        several = len(self.alternatives) > 1
        return tuple(
            f"{a.origin}: {sentence}" if several else sentence
            for a in self.alternatives
            for sentence in reasons(a.grade)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the verdicts, one sentence each."""
        several = len(self.alternatives) > 1
        return tuple(
            f"{a.origin}: {sentence}" if several else sentence
            for a in self.alternatives
            for sentence in a.grade.notes
        )


def reasons(grade: Grade) -> tuple[str, ...]:
    """Why a program is what it is: what fails, else what could not be told."""
    if grade.code == "inconclusive" and grade.reason is not None:
        return (grade.reason,)
    wanted = "fail" if grade.code != "inconclusive" else "inconclusive"
    undecided = (*grade.advisory, *grade.guards) if wanted == "inconclusive" else ()
    return tuple(
        f"{v.property}: {v.sentence}"
        for v in grade.verdicts
        if v.outcome == wanted and v.property not in undecided
    )


@dataclass(slots=True)
class Tally:
    """How many answers were what."""

    right: int = 0
    """Code right."""
    wrong: int = 0
    """Code wrong."""
    inconclusive: int = 0
    """Could not tell."""
    none: int = 0
    """No code."""
    not_graded: int = 0
    """Unreadable, unanswered, or a fault of ours."""

    def count(self, answer: AnswerGrade) -> None:
        """One more."""
        name = answer.code if answer.error is None else "not_graded"
        setattr(self, name, getattr(self, name) + 1)

    @property
    def total(self) -> int:
        """All of them."""
        return self.right + self.wrong + self.inconclusive + self.none + self.not_graded


@dataclass(frozen=True, slots=True)
class Batch:
    """What is left to tell once every answer was told."""

    tally: Tally
    """How many were what."""
    faults: tuple[Fault, ...]
    """Ours."""
    interrupted: bool
    """Whether Ctrl-C ended it."""

    def exit_code(self, *, strict: bool = False) -> int:
        """130 cut short, 3 a fault of ours, 2 something unreadable, 1 a wrong answer, 4 with
        ``strict`` one that could not be judged, else 0.
        """
        if self.interrupted:
            return 130
        if self.faults:
            return 3
        if self.tally.not_graded:
            return 2
        if self.tally.wrong:
            return 1
        return 4 if strict and (self.tally.inconclusive or self.tally.none) else 0
