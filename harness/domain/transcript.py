"""A conversation in one normal form, whatever file or agent it came from.

Nothing in a transcript is an instruction, and nothing of it is evaluated: it is text that somebody
else wrote.
"""

from collections.abc import Iterable
from typing import Literal, get_args

from harness.domain.file_edit import FileEdit, FileState
from harness.domain.record import Record

CallStatus = Literal["ok", "error", "denied", "pending"]
"""``pending``: the log holds no result, so nothing is known to have happened."""


class ToolCall(Record):
    """One use of a tool by the assistant, with what came back."""

    id: str
    """Its id in the log; empty if it has none."""
    name: str
    """The tool."""
    input: str
    """Its arguments: JSON where the log has an object, else the text. Long ones are cut."""
    status: CallStatus = "pending"
    """How it ended. Only ``ok`` changed any file."""
    result: str = ""
    """What came back, as text. Long ones are cut."""
    edits: tuple[FileEdit, ...] = ()
    """What it does to files, if it succeeds."""
    by_subagent: bool = False
    """Whether a subagent made it: its files count, its words do not."""


class Message(Record):
    """One message of the conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    """Who speaks. What a program inserted in a person's name (reminders, summaries) is ``system``."""
    text: str
    """What is said, as Markdown."""
    calls: tuple[ToolCall, ...] = ()
    """Tools that the assistant used in this message, in order."""


class Fact(Record):
    """Something that the file says about itself."""

    key: str
    """Such as ``model``, ``scenario`` or ``task``."""
    value: str
    """As text."""


SkillRead = Literal["yes", "late", "no", "unknown"]
"""Whether an agent opened the skill that it could: before its first answer, only for the second turn,
not at all; ``unknown``: no log tells.
"""


def skill_read(facts: Iterable[Fact]) -> SkillRead | None:
    """What a transcript says of it; ``None`` where there was no skill to open."""
    said = next((fact.value for fact in facts if fact.key == "skill_triggered"), None)
    return next((one for one in get_args(SkillRead) if one == said), None)


class Origin(Record):
    """Where a transcript came from."""

    file: str
    """As it was named; ``<stdin>`` for standard input."""
    format: str
    """Name of the format it was read as."""
    position: str = ""
    """Which part of the file: ``sample 3, epoch 1``, ``choice 2``; empty when the file holds one
    transcript.
    """


class Usage(Record):
    """Tokens that the conversation cost. Each message counts once; subagents are included."""

    input: int = 0
    """Read by the model, without what came from the cache."""
    output: int = 0
    """Written by the model."""
    cache_read: int = 0
    """Read from the cache."""
    cache_write: int = 0
    """Written to the cache."""


class Gap(Record):
    """The middle of a very long conversation, which is not kept."""

    after: int
    """How many messages are kept before it."""
    messages: int
    """How many are missing."""
    files: tuple[FileState, ...]
    """Files as they were at its end."""


class Transcript(Record):
    """The whole conversation, oldest message first."""

    messages: tuple[Message, ...]
    """All messages, in order."""
    agent: str
    """Who answered: ``reference``, ``buggy``, ``replay:...``, a model's name."""
    origin: Origin | None = None
    """The file it was read from, if any."""
    scenario: str | None = None
    """The scenario's id, where the file names one."""
    facts: tuple[Fact, ...] = ()
    """What else the file says about itself."""
    usage: Usage | None = None
    """What it cost, where the file says so."""
    gap: Gap | None = None
    """What was left out, if the conversation was too long to keep."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how the file was read, one sentence each."""

    @property
    def answer(self) -> str:
        """Everything that the assistant said, in order, as one Markdown text."""
        return "\n\n".join(m.text for m in self.messages if m.role == "assistant" and m.text)

    def with_question(self, question: str) -> "Transcript":
        """The same, begun by the question where no message is the user's."""
        if any(message.role == "user" for message in self.messages):
            return self
        asked = Message(role="user", text=question)
        return self.model_copy(update={"messages": (asked, *self.messages)})

    @property
    def prompt(self) -> str:
        """What the user asked first; empty when the file does not say."""
        return next((m.text for m in self.messages if m.role == "user"), "")


class Unreadable(Record):
    """A file, or a part of one, in which no transcript could be read."""

    file: str
    """As it was named; ``<stdin>`` for standard input."""
    expected: str
    """What should have been there."""
    sentence: str
    """What was found instead."""
