"""One answer out of a file, graded: what ``harness grade`` says about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from harness.domain.assessment import CriterionState, Rationalized
from harness.domain.grade import Code, Grade, write_grade
from harness.domain.outcome import Fault
from harness.domain.own import OwnSettings
from harness.domain.record import Record
from harness.domain.scenario import Scenario
from harness.domain.transcript import SkillRead
from harness.domain.verdict import Verdict
from harness.domain.wording import plainly


class Alternative(Record):
    """One program that an answer proposes."""

    origin: str
    """Where it stands in the answer."""
    program: str
    """The program as it was extracted from the answer."""
    as_run: str = ""
    """Exactly what was run: the code, and as comments what its free names were bound to."""
    grade: Grade
    """How it was judged."""
    story: tuple[str, ...] = ()
    """What happened in the window of a failure, in order, one line for each event."""
    settings: OwnSettings | None = None
    """What it sets out to do, where no scenario says what it should."""
    lent: tuple[str, ...] = ()
    """What was lent to it, mapped, replaced or shortened, where no scenario provides that."""


AskedTurn = Literal["first", "second"]
"""Of an asked model: its natural answer, or the runnable form that it was asked for next."""


def code_of_alternatives(alternatives: Sequence[Alternative]) -> Code:
    """Wrong when any is wrong; otherwise what the first one is."""
    if not alternatives:
        return "none"
    wrong = any(a.grade.code == "wrong" for a in alternatives)
    return "wrong" if wrong else alternatives[0].grade.code


class AnswerGrade(Record):
    """Everything that is said about one answer."""

    file: str
    """The file, and which part of it where it holds several."""
    scenario: str | None = None
    """Id of the scenario; ``None`` when it is not known."""
    how: str = ""
    """How the scenario was recognised, where the caller did not name it."""
    alternatives: tuple[Alternative, ...] = ()
    """The programs that it proposes; empty where it has no code."""
    no_code: str | None = None
    """Why there is no code."""
    in_words: bool = False
    """Whether its scenario judges words alone, so that code is not missed."""
    criteria: dict[str, CriterionState] = Field(default_factory=dict)
    """Each line of the rubric, by its id."""
    rationalizations: tuple[Rationalized, ...] = ()
    """Excuses of the scenario's table that were found in it."""
    turn: AskedTurn = "first"
    """The turn that the programs were taken from."""
    reading: tuple[str, ...] = ()
    """What is to be known about how its file was read, one sentence each: a log that is cut off."""
    repaired_on_request: bool = False
    """Whether the first turn's program is wrong and the second turn's is right."""
    error: str | None = None
    """Why it could not be graded, in one sentence."""
    skill_triggered: SkillRead | None = None
    """Whether it opened the skill; ``None`` where there was none to open."""

    @property
    def code(self) -> Code:
        """``wrong`` when any alternative is wrong; otherwise the judgement of the first one."""
        return "none" if self.error is not None else code_of_alternatives(self.alternatives)

    @property
    def deciding(self) -> Alternative:
        """The alternative that decides: the first wrong one, or else the first."""
        return next((a for a in self.alternatives if a.grade.code == "wrong"), self.alternatives[0])

    def as_grade(self, scenario: Scenario, agent: str) -> Grade | None:
        """The grade of the deciding alternative; ``None`` where a fault of the harness left none."""
        if self.no_code is not None:
            return write_grade(scenario, agent, (), reason=self.no_code)
        return self.deciding.grade if self.alternatives else None

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the properties that fail and count, over all alternatives."""
        return tuple(dict.fromkeys(p for a in self.alternatives for p in a.grade.failed))

    @property
    def advisory(self) -> tuple[str, ...]:
        """Ids of the properties that fail and do not count."""
        failing = (
            v.property
            for a in self.alternatives
            for v in a.grade.verdicts
            if v.outcome == "fail" and v.property in a.grade.advisory
        )
        return tuple(dict.fromkeys(failing))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for its judgement, one sentence each."""
        if self.no_code is not None:
            return (self.no_code,)
        several = len(self.alternatives) > 1
        return tuple(
            f"{a.origin}: {sentence}" if several else sentence
            for a in self.alternatives
            for sentence in reasons_of(a.grade)
        )

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Of the program that decides; empty where there is no code."""
        return self.deciding.grade.verdicts if self.alternatives else ()

    @property
    def program(self) -> str | None:
        """The program that decides, as it was taken from the answer; ``None`` without code."""
        return self.deciding.program if self.alternatives else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know besides the verdicts, one sentence each."""
        several = len(self.alternatives) > 1
        of_programs = (
            f"{a.origin}: {sentence}" if several else sentence
            for a in self.alternatives
            for sentence in a.grade.notes
        )
        return (*self.reading, *of_programs)


def reasons_of(grade: Grade) -> tuple[str, ...]:
    """The reasons for a program's judgement, as people read them: what fails, or else what is
    inconclusive.
    """
    if grade.code == "inconclusive" and grade.reason is not None:
        return (plainly(grade.reason),)
    wanted = "fail" if grade.code != "inconclusive" else "inconclusive"
    uncounted = (*grade.advisory, *grade.guards) if wanted == "inconclusive" else ()
    return tuple(
        f"{v.property}: {plainly(v.sentence)}"
        for v in grade.verdicts
        if v.outcome == wanted and v.property not in uncounted
    )


@dataclass(slots=True)
class Tally:
    """How many answers got which judgement."""

    right: int = 0
    """Code right."""
    wrong: int = 0
    """Code wrong."""
    inconclusive: int = 0
    """Code inconclusive."""
    none: int = 0
    """No code."""
    words: int = 0
    """Judged by words alone."""
    not_graded: int = 0
    """Unreadable, unanswered, or lost to a fault of the harness."""

    def count(self, answer: AnswerGrade) -> None:
        """Count one more answer."""
        name = answer.code if answer.error is None else "not_graded"
        if name == "none" and answer.in_words:
            self.words += 1
        else:
            setattr(self, name, getattr(self, name) + 1)

    @property
    def total(self) -> int:
        """All of them."""
        judged = self.right + self.wrong + self.inconclusive + self.none + self.words
        return judged + self.not_graded


@dataclass(frozen=True, slots=True)
class Batch:
    """The summary of a batch, once every answer was told."""

    tally: Tally
    """How many answers got which judgement."""
    faults: tuple[Fault, ...]
    """Faults of the harness."""
    interrupted: bool
    """Whether Ctrl-C ended it."""
    unstored: tuple[str, ...] = ()
    """Why an answer could not be stored, for each that was told and is not in the run."""
    unread: tuple[str, ...] = ()
    """What the judge of the text lacks to read an answer, each time that it did."""

    def exit_code(self, *, strict: bool = False) -> int:
        """130 when it was interrupted, 3 for a fault of the harness, 2 for what could not be read
        or stored, 1 for a wrong answer, 4 (only with ``strict``) for one that is inconclusive,
        else 0.
        """
        if self.interrupted:
            return 130
        if self.faults:
            return 3
        if self.tally.not_graded or self.unstored or self.unread:
            return 2
        if self.tally.wrong:
            return 1
        return 4 if strict and (self.tally.inconclusive or self.tally.none) else 0
