"""One answer out of a file, graded: what ``harness grade`` says about it."""

from dataclasses import dataclass
from pydantic import Field

from harness.domain.assessment import CriterionState
from harness.domain.grade import Code, Grade
from harness.domain.outcome import Fault
from harness.domain.record import Record


class Alternative(Record):
    """One of the programs that an answer proposes."""

    origin: str
    """Where it stands in the answer."""
    program: str
    """Exactly what was run."""
    grade: Grade
    """What came of it."""


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
    error: str | None = None
    """Why it could not be graded, in one sentence."""

    @property
    def code(self) -> Code:
        """Wrong when any alternative is wrong; otherwise what the first one is."""
        if self.error is not None or not self.alternatives:
            return "none"
        wrong = any(a.grade.code == "wrong" for a in self.alternatives)
        return "wrong" if wrong else self.alternatives[0].grade.code

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


def reasons(grade: Grade) -> tuple[str, ...]:
    """Why a program is what it is: what fails, else what could not be told."""
    wanted = "fail" if grade.code != "inconclusive" else "inconclusive"
    undecided = (*grade.advisory, *grade.guards) if wanted == "inconclusive" else ()
    return tuple(
        f"{v.property}: {v.sentence}"
        for v in grade.verdicts
        if v.outcome == wanted and v.property not in undecided
    )


@dataclass(frozen=True, slots=True)
class Batch:
    """All that grading files has to tell."""

    answers: tuple[AnswerGrade, ...]
    """In the order of the files; after Ctrl-C those that were finished."""
    faults: tuple[Fault, ...]
    """Ours."""
    interrupted: bool
    """Whether Ctrl-C ended it."""

    @property
    def exit_code(self) -> int:
        """130 cut short, 3 a fault of ours, 2 something unreadable, 1 a wrong answer, else 0."""
        if self.interrupted:
            return 130
        if self.faults:
            return 3
        if any(answer.error is not None for answer in self.answers):
            return 2
        return 1 if any(answer.code == "wrong" for answer in self.answers) else 0
