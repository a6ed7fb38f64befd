"""What a run leaves on disk: a head that says how it was made, and one line for each answer."""

from dataclasses import dataclass
from typing import Literal

from harness.domain.answer import AnswerGrade
from harness.domain.grade import Code
from harness.domain.model import NoAnswer
from harness.domain.outcome import Fault
from harness.domain.record import Record
from harness.domain.trace import Trace
from harness.domain.transcript import Transcript

SCHEMA = 1
"""Version of what is written. 1: first."""


class SkillUsed(Record):
    """The skill that the agent was given."""

    name: str
    """From its frontmatter."""
    digest: str
    """Hash of every file of it."""
    delivery: str
    """How it reached the agent: ``system``, ``tool``, ``none``."""


class RunHead(Record):
    """How a run was made: everything that has to be the same for its answers to belong together."""

    schema_version: int = SCHEMA
    """Version of this record and of the lines."""
    kind: Literal["bank", "grade", "agent"]
    """The bank against itself, answers out of files, or answers that were asked for."""
    harness_version: str
    """Version of this package."""
    torch_version: str
    """Version of torch that ran the programs."""
    bank_digest: str
    """Digest of the bank."""
    judge: str
    """Who read the text."""
    seed: int = 0
    """Offset added to every workload's seed."""
    agent: str | None = None
    """Who was asked."""
    skill: SkillUsed | None = None
    """With which skill."""
    trials: int = 1
    """How often each question was asked."""


class StoredAnswer(Record):
    """One answer and all that was said about it: one line of a run."""

    key: str
    """Unique in the run."""
    agent: str
    """Who answered."""
    trial: int = 1
    """Which of several answers to the same question, from 1."""
    answer: AnswerGrade
    """The grade."""
    no_answer: NoAnswer | None = None
    """Why there is none, for a reason that says nothing about the agent's advice."""
    transcript: Transcript | None = None
    """What was said."""
    traces: tuple[str, ...] = ()
    """Names of the stored traces, one for each alternative."""

    @property
    def outcome(self) -> Code | Literal["unanswered"]:
        """What it came to."""
        return "unanswered" if self.answer.error is not None else self.answer.code

    @property
    def is_final(self) -> bool:
        """Whether asking again would be another answer: an overloaded server is none."""
        return self.no_answer is None or self.no_answer.kind in ("refusal", "truncated")


@dataclass(frozen=True, slots=True)
class Told:
    """One answer as the runner tells it, its traces still in memory."""

    stored: StoredAnswer
    """What goes to disk."""
    traces: tuple[Trace, ...] = ()
    """What each alternative was judged by."""
    faults: tuple[Fault, ...] = ()
    """Ours; an answer with one is not stored, so that a second run tries again."""
    is_stored: bool = False
    """Whether it comes out of the run, or has no place there."""

    @property
    def is_worth_storing(self) -> bool:
        """Whether it belongs into the run."""
        return not self.is_stored and not self.faults
