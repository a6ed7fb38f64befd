"""Our records in the form of the Chat Completions API, and back. What comes back is checked."""

import json
from collections.abc import Iterator, Sequence
from typing import cast

from pydantic import BaseModel, Field, JsonValue, ValidationError

from harness.domain.model import Completion, Tool, ToolUse, Turn, Unavailable
from harness.domain.transcript import Usage
from harness.llm.failures import one_line
from harness.llm.prices import Price


def messages_of(system: str, turns: Sequence[Turn]) -> list[dict[str, JsonValue]]:
    """The conversation, the system prompt first."""
    first: list[dict[str, JsonValue]] = [{"role": "system", "content": system}] if system else []
    return [*first, *(message for turn in turns for message in _messages(turn))]


def tools_of(tools: Sequence[Tool]) -> list[dict[str, JsonValue]]:
    """The tools."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


class _CalledFunction(BaseModel):
    name: str
    arguments: str = "{}"


class _FunctionCall(BaseModel):
    id: str
    function: _CalledFunction


class _Said(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_FunctionCall] | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None


class _Cached(BaseModel):
    cached_tokens: int | None = None


class _Counted(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached | None = None


class OpenAIAnswer(BaseModel):
    """What is needed of an answer; everything else in it is passed over."""

    model: str
    choices: list[_Choice] = Field(min_length=1)
    usage: _Counted | None = None  # some servers count nothing

    @property
    def tokens(self) -> Usage:
        """Tokens."""
        counted = self.usage or _Counted()
        cached = (counted.prompt_tokens_details or _Cached()).cached_tokens or 0
        return Usage(
            input=max(counted.prompt_tokens - cached, 0),
            output=counted.completion_tokens,
            cache_read=cached,
        )


def understood(reply: object) -> OpenAIAnswer:
    """The answer, if it is one: the SDK lets through whatever a server says with status 200.

    Raises:
        Unavailable: it is something else.
    """
    try:
        raw = reply.model_dump(mode="json", exclude_unset=True, warnings=False)  # type: ignore[attr-defined]  # else caught
        return OpenAIAnswer.model_validate(raw)
    except (AttributeError, ValidationError) as error:
        sentence = "what came back is no answer of the Chat Completions API"
        raise Unavailable("bad_response", sentence) from error


def completion_of(answer: OpenAIAnswer, price: Price | None) -> Completion:
    """The answer.

    Raises:
        Unavailable: it broke off, or it was refused.
    """
    choice = answer.choices[0]
    text, called = choice.message.content or "", choice.message.tool_calls or []
    _refuse_unfinished(answer, text, called)
    return Completion(
        model=answer.model,
        text=text,
        calls=tuple(_use(call) for call in called),
        usage=answer.tokens,
        cost=price.of(answer.tokens) if price else None,
        raw=(_as_sent(text, called),),
    )


def _messages(turn: Turn) -> Iterator[dict[str, JsonValue]]:
    if turn.raw:
        yield cast("dict[str, JsonValue]", turn.raw[0])
        return
    for result in turn.results:
        yield {"role": "tool", "tool_call_id": result.id, "content": result.content}
    if turn.text or not turn.results:
        yield {"role": turn.role, "content": turn.text}


def _use(call: _FunctionCall) -> ToolUse:
    try:
        given = json.loads(call.function.arguments)
    except ValueError:
        given = None
    named = given if isinstance(given, dict) else {}  # the tool says what it lacks
    return ToolUse(id=call.id, name=call.function.name, input=named)


def _as_sent(text: str, called: Sequence[_FunctionCall]) -> JsonValue:
    message: dict[str, JsonValue] = {"role": "assistant", "content": text or None}
    if called:
        message["tool_calls"] = [
            {"id": one.id, "type": "function", "function": one.function.model_dump()}
            for one in called
        ]
    return message


def _refuse_unfinished(answer: OpenAIAnswer, text: str, called: Sequence[_FunctionCall]) -> None:
    usage, choice = answer.tokens, answer.choices[0]
    if choice.message.refusal or choice.finish_reason == "content_filter":
        why = f": {choice.message.refusal}" if choice.message.refusal else ""
        raise Unavailable("refusal", one_line(f"the model refused{why}"), usage, text)
    if choice.finish_reason == "length":
        sentence = f"the answer was cut off after {usage.output} tokens"
        raise Unavailable("truncated", sentence, usage, text)
    if choice.finish_reason not in ("stop", "tool_calls", "function_call"):
        sentence = f"the answer ended in a way that is not known here: {choice.finish_reason}"
        raise Unavailable("bad_response", one_line(sentence), usage, text)
    if not text.strip() and not called:
        raise Unavailable("bad_response", "the model answered with no text", usage)
