"""What a language model is asked, and what comes back, whoever provides it."""

from collections.abc import Sequence
from typing import Literal, Protocol

from pydantic import Field, JsonValue

from harness.domain.errors import HarnessError
from harness.domain.record import Record
from harness.domain.transcript import Usage

UnavailableKind = Literal[
    "overloaded",
    "rate_limited",
    "server_error",
    "timeout",
    "connection",
    "truncated",
    "refusal",
    "too_long",
    "bad_request",
    "bad_response",
    "authentication",
    "permission",
    "no_such_model",
    "billing",
    "cost_limit",
    "interrupted",
]
"""Why a model gave no answer. None of these says anything about the quality of an answer."""

_IN_VAIN = frozenset(
    {"authentication", "permission", "no_such_model", "billing", "cost_limit", "interrupted"}
)


class Unavailable(HarnessError):
    """Raised when no usable answer came. The message is one sentence."""

    def __init__(
        self, kind: UnavailableKind, sentence: str, usage: Usage | None = None, text: str = ""
    ) -> None:
        """``usage``: tokens that were billed all the same; ``text``: what was said before it broke
        off.
        """
        super().__init__(sentence)
        self.kind: UnavailableKind = kind
        self.sentence = sentence
        self.usage = usage
        self.text = text

    @property
    def in_vain(self) -> bool:
        """Whether every further question would fail in the same way."""
        return self.kind in _IN_VAIN


AbsentKind = UnavailableKind | Literal["command_failed", "unreadable"]
"""Why an agent gave no answer. ``unreadable``: what it printed is no answer."""


class NoAnswer(Record):
    """An agent was asked and there is no answer. It is stored as this, and never graded."""

    kind: AbsentKind
    """Why."""
    sentence: str
    """The same in one sentence."""
    usage: Usage | None = None
    """Tokens that were billed all the same."""
    said: str = ""
    """What was said before it broke off."""

    @property
    def in_vain(self) -> bool:
        """Whether every further question would fail in the same way."""
        return self.kind in _IN_VAIN


class Tool(Record):
    """Something that the model may call."""

    name: str
    """What it is called by."""
    description: str
    """When and how to use it, for the model."""
    parameters: dict[str, JsonValue]
    """JSON schema of the object it takes."""


class ToolUse(Record):
    """One call that the model asks for."""

    id: str
    """Id that its result has to carry."""
    name: str
    """The tool; not necessarily one that exists."""
    input: dict[str, JsonValue]
    """What the model passes; not necessarily what the schema says."""


class ToolResult(Record):
    """The result of one call."""

    id: str
    """Id of the call."""
    content: str
    """The result, as the model gets to read it."""
    failed: bool = False
    """Whether the call failed and the content says why."""


class Turn(Record):
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    """Who speaks."""
    text: str = ""
    """What is said."""
    results: tuple[ToolResult, ...] = ()
    """In a user's turn: results of the tool calls of the turn before."""
    raw: tuple[JsonValue, ...] = Field(default=(), repr=False)
    """In an assistant's turn: the provider's own blocks, sent back unchanged. Providers refuse
    thinking and tool calls in any other form.
    """


class Completion(Record):
    """One answer of a model."""

    model: str
    """Who answered, as the provider names it."""
    text: str
    """Everything that it said, without its thinking."""
    calls: tuple[ToolUse, ...] = ()
    """Tools that it wants to call before it goes on; empty when it has finished."""
    usage: Usage
    """Tokens."""
    cost: float | None
    """In US dollars; ``None`` when the price is not known."""
    raw: tuple[JsonValue, ...] = Field(default=(), repr=False)
    """The provider's own blocks."""

    def as_turn(self) -> Turn:
        """The turn to put into the conversation before it goes on."""
        return Turn(role="assistant", text=self.text, raw=self.raw)


class LanguageModel(Protocol):
    """Continues conversations. Called from several threads at once."""

    @property
    def name(self) -> str:
        """The model, as its provider names it."""

    def complete(
        self, system: str, turns: Sequence[Turn], *, max_tokens: int, tools: Sequence[Tool] = ()
    ) -> Completion:
        """The model's next turn.

        Raises:
            Unavailable: none came, for a reason that says nothing about the conversation.
        """
