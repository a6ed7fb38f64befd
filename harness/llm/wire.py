"""Our records in the provider's form, and back. What comes back is checked: it crossed a network."""

from collections.abc import Sequence
from typing import Annotated, Literal, cast

from anthropic.types import MessageParam, TextBlockParam, ToolParam
from pydantic import BaseModel, Field, JsonValue, ValidationError

from harness.domain.model import Completion, Tool, ToolUse, Turn, Unavailable
from harness.domain.transcript import Usage
from harness.llm.failures import one_line
from harness.llm.prices import Price


def system_blocks(system: str) -> list[TextBlockParam]:
    """The system prompt, kept by the provider's cache: every scenario reads the same skill."""
    if not system:
        return []
    return [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]


def messages_of(turns: Sequence[Turn]) -> list[MessageParam]:
    """The conversation."""
    found = [{"role": turn.role, "content": _content(turn)} for turn in turns]
    return cast("list[MessageParam]", found)


def tools_of(tools: Sequence[Tool]) -> list[ToolParam]:
    """The tools."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": cast("dict[str, object]", tool.parameters),
        }
        for tool in tools
    ]


class _Text(BaseModel):
    type: Literal["text"]
    text: str


class _ToolUse(BaseModel):
    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, JsonValue]


class _Tokens(BaseModel):
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Details(BaseModel):
    category: str | None = None
    explanation: str | None = None


class _Blocks(BaseModel):
    blocks: list[Annotated[_Text | _ToolUse, Field(discriminator="type")]]


class AnthropicAnswer(BaseModel):
    """What is needed of an answer; everything else in it is passed over."""

    model: str
    content: list[dict[str, JsonValue]]
    stop_reason: str | None
    stop_details: _Details | None = None
    usage: _Tokens

    @property
    def tokens(self) -> Usage:
        """Tokens."""
        return Usage(
            input=self.usage.input_tokens,
            output=self.usage.output_tokens,
            cache_read=self.usage.cache_read_input_tokens or 0,
            cache_write=self.usage.cache_creation_input_tokens or 0,
        )


def understood(reply: object) -> AnthropicAnswer:
    """The answer, if it is one: the SDK lets through whatever a server says with status 200.

    Raises:
        Unavailable: it is something else.
    """
    try:
        raw = reply.model_dump(mode="json", exclude_unset=True, warnings=False)  # type: ignore[attr-defined]  # else caught
        return AnthropicAnswer.model_validate(raw)
    except (AttributeError, ValidationError) as error:
        sentence = "what came back is no answer of the Messages API"
        raise Unavailable("bad_response", sentence) from error


def completion_of(answer: AnthropicAnswer, price: Price | None) -> Completion:
    """The answer.

    Raises:
        Unavailable: it broke off, or it was refused.
    """
    blocks = _known_blocks(answer)
    text = "\n\n".join(b.text for b in blocks if isinstance(b, _Text) and b.text.strip())
    calls = tuple(
        ToolUse(id=b.id, name=b.name, input=b.input) for b in blocks if isinstance(b, _ToolUse)
    )
    _refuse_unfinished(answer, text, calls)
    return Completion(
        model=answer.model,
        text=text,
        calls=calls,
        usage=answer.tokens,
        cost=price.of(answer.tokens) if price else None,
        raw=tuple(cast("list[JsonValue]", answer.content)),
    )


def _content(turn: Turn) -> str | list[JsonValue]:
    if turn.raw:
        return list(turn.raw)
    if not turn.results:
        return turn.text
    blocks: list[JsonValue] = [
        {
            "type": "tool_result",
            "tool_use_id": result.id,
            "content": result.content,
            "is_error": result.failed,
        }
        for result in turn.results
    ]
    return [*blocks, {"type": "text", "text": turn.text}] if turn.text else blocks


def _known_blocks(answer: AnthropicAnswer) -> Sequence[_Text | _ToolUse]:
    """Text and calls. Thinking, and kinds of blocks that are newer than this, say nothing here."""
    known = [block for block in answer.content if block.get("type") in ("text", "tool_use")]
    try:
        return _Blocks.model_validate({"blocks": known}).blocks
    except ValidationError as error:
        sentence = "a block of the answer is not as the Messages API has it"
        raise Unavailable("bad_response", sentence, answer.tokens) from error


def _refuse_unfinished(answer: AnthropicAnswer, text: str, calls: tuple[ToolUse, ...]) -> None:
    usage = answer.tokens
    match answer.stop_reason:
        case "max_tokens":
            sentence = f"the answer was cut off after {usage.output} tokens"
            raise Unavailable("truncated", sentence, usage, text)
        case "model_context_window_exceeded":
            sentence = "the conversation is longer than the model can read"
            raise Unavailable("too_long", sentence, usage, text)
        case "refusal":
            raise Unavailable("refusal", _refusal(answer.stop_details), usage, text)
        case "end_turn" | "stop_sequence" | "tool_use":
            if not text and not calls:
                raise Unavailable("bad_response", "the model answered with no text", usage)
        case other:
            sentence = f"the answer ended in a way that is not known here: {other}"
            raise Unavailable("bad_response", one_line(sentence), usage, text)


def _refusal(details: _Details | None) -> str:
    category = f" ({details.category})" if details and details.category else ""
    why = f": {details.explanation}" if details and details.explanation else ""
    return one_line(f"the model refused{category}{why}")
