"""What a run leaves on disk: a head that says how it was made, and one line for each answer."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from harness.domain.answer import AnswerGrade
from harness.domain.grade import Code
from harness.domain.model import NoAnswer
from harness.domain.outcome import Fault
from harness.domain.record import Record
from harness.domain.trace import Trace
from harness.domain.transcript import Transcript

MOST_NAMED = 6
"""Missing shards that are named."""

SCHEMA = 1
"""Version of what is written. 1: first."""


class SkillUsed(Record):
    """The skill that the agent was given."""

    name: str
    """Its name, from its frontmatter."""
    digest: str
    """Hash of every file of it."""
    delivery: str
    """How it reached the agent: ``system``, ``tool``, ``none``."""


class RunHead(Record):
    """How a run was made: everything that all of its answers have in common."""

    schema_version: int = SCHEMA
    """Version of this record and of the lines."""
    kind: Literal["bank", "grade", "agent"]
    """Whether a bank was checked against itself, answers were read from files, or an agent was asked."""
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
    """Which agent was asked."""
    skill: SkillUsed | None = None
    """The skill that the agent was given."""
    trials: int = 1
    """How many times each question was asked."""
    rounds: int | None = None
    """Trials of each scenario that a comparison in rounds would ask at most; ``None`` elsewhere."""
    shard: str | None = Field(default=None, pattern=r"^[0-9]{1,6}(,[0-9]{1,6})*/[0-9]{1,6}$")
    """Which parts of the inputs it holds, ``2/8`` or ``1,2/3``; ``None``: all, or nobody said."""

    @property
    def shards_missing(self) -> str | None:
        """A sentence, where parts of the inputs are not in it."""
        if self.shard is None:
            return None
        here, of = self.shard.split("/")
        present = {int(number) for number in here.split(",")}
        missing = [str(number) for number in range(1, int(of) + 1) if number not in present]
        if not missing:
            return None
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        named = ", ".join(missing[:MOST_NAMED])
        return f"shards {len(present)} of {of} present, missing {named}{more}"


class StoredAnswer(Record):
    """One answer with everything that was said about it: one line of a run."""

    key: str
    """Unique in the run."""
    agent: str
    """Who answered."""
    trial: int = 1
    """Which of several answers to the same question, from 1."""
    answer: AnswerGrade
    """The grade."""
    no_answer: NoAnswer | None = None
    """Why no answer came; it says nothing about the agent's advice."""
    transcript: Transcript | None = None
    """The conversation."""
    traces: tuple[str, ...] = ()
    """Names of the stored traces, one for each alternative."""

    @property
    def outcome(self) -> Code | Literal["unanswered"]:
        """The judgement of its code, or ``unanswered``."""
        return "unanswered" if self.answer.error is not None else self.answer.code

    @property
    def is_final(self) -> bool:
        """Whether asking again is pointless. An overloaded server, for example, is worth another try."""
        return self.no_answer is None or self.no_answer.kind in ("refusal", "truncated")


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """One graded answer on its way out of the runner, its traces still in memory."""

    stored: StoredAnswer
    """The line to store."""
    traces: tuple[Trace, ...] = ()
    """The traces that its alternatives were judged by."""
    faults: tuple[Fault, ...] = ()
    """Faults of the harness. An answer with one is not stored, so that the next run tries it again."""
    is_stored: bool = False
    """Whether it was read from the run, or must not be stored there."""

    @property
    def is_worth_storing(self) -> bool:
        """Whether to store it in the run."""
        return not self.is_stored and not self.faults
