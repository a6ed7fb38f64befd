"""JSON of two APIs: Anthropic Messages and OpenAI chat completions; requests, responses and both.

Shapes, for either: a response; a request; ``{"request": ..., "response": ...}``; one object with
the fields of both; a list of messages, or of a request and its response; several in a file.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from harness.domain.transcript import CallStatus, Origin, Transcript, Unreadable, Usage
from harness.transcripts.blocks import add_message, text_of, usage_of
from harness.transcripts.conversation import Conversation
from harness.transcripts.documents import values
from harness.transcripts.lines import nothing_in
from harness.transcripts.source import Source
from harness.transcripts.values import (
    arguments,
    as_text,
    count,
    fields,
    first,
    items,
    scalar,
    string,
)

_FAILED = ("error:", "error ", "traceback (most recent", '{"error"', "permission denied", "failed:")


@dataclass(frozen=True, slots=True)
class _Exchange:
    """Request and response, either may be empty."""

    outer: dict[str, JsonValue]
    request: dict[str, JsonValue]
    response: dict[str, JsonValue]

    def facts(self) -> dict[str, str]:
        """What the documents say about themselves."""
        found: dict[str, str] = {}
        for part in (self.outer, self.response, self.request):
            meta = fields(part.get("metadata"))
            said = {k: part.get(k) for k in ("model", "scenario", "id", "stop_reason")}
            for key, value in (*said.items(), *meta.items()):
                if text := scalar(value):
                    found.setdefault(key, text)
        return found


def read_anthropic(source: Source) -> Iterator[Transcript | Unreadable]:
    """Messages of the Anthropic API."""
    yield from _documents(source, "anthropic", _anthropic)


def read_openai(source: Source) -> Iterator[Transcript | Unreadable]:
    """Chat completions; each of several choices is a transcript of its own."""
    yield from _documents(source, "openai", _openai)


def add_chat_message(talk: Conversation, message: dict[str, JsonValue], key: str) -> None:
    """One message in the words of the OpenAI chat API."""
    role, content = string(message.get("role")), message.get("content")
    if role in ("tool", "function"):
        text = _parts(content)
        talk.result(first(message, "tool_call_id", "name"), text, _status(text))
        return
    add_message(talk, {"id": key, "role": role, "content": _blocks(content)})
    if role != "assistant":
        return
    talk.say("assistant", string(message.get("refusal")), key)
    for value in items(message.get("tool_calls")):
        call, function = fields(value), fields(fields(value).get("function"))
        custom = fields(call.get("custom"))
        name = string(function.get("name")) or string(custom.get("name"))
        given = function.get("arguments", custom.get("input"))
        talk.call(string(call.get("id")), name, arguments(given), key)
    old = fields(message.get("function_call"))
    if old:
        name = string(old.get("name"))
        talk.call(name, name, arguments(old.get("arguments")), key)


def _blocks(content: JsonValue) -> JsonValue:
    if not isinstance(content, list):
        return content
    return [_block(fields(part)) for part in content]


def _block(part: dict[str, JsonValue]) -> JsonValue:
    if part.get("type") in ("input_text", "output_text", "refusal"):
        return {"type": "text", "text": first(part, "text", "refusal")}
    return part


def _parts(content: JsonValue) -> str:
    if not isinstance(content, list):
        return as_text(content)
    return "\n".join(first(fields(part), "text") for part in content)


def _status(text: str) -> CallStatus:
    """The format has no flag for failure, so the tool's own words have to do."""
    return "error" if text.lstrip()[:30].lower().startswith(_FAILED) else "ok"


def _documents(
    source: Source, kind: str, add: Callable[[Conversation, _Exchange, JsonValue], Usage | None]
) -> Iterator[Transcript | Unreadable]:
    number = 0
    for number, exchange in enumerate(_exchanges(values(source.stream)), start=1):
        answers = _answers(exchange)
        for index, answer in enumerate(answers, start=1):
            place = [f"document {number}"] if number > 1 else []
            place += [f"choice {index}"] if len(answers) > 1 else []
            talk = Conversation()
            usage = add(talk, exchange, answer)
            if talk.empty:
                yield nothing_in(source, f"JSON of the {kind} API")
                continue
            facts = exchange.facts()
            yield talk.transcript(
                agent=facts.get("model", "unknown"),
                origin=Origin(file=source.name, format=kind, position=", ".join(place)),
                scenario=facts.get("scenario") or facts.get("scenario_id", ""),
                facts=facts.items(),
                usage=usage,
            )
    if not number:
        yield nothing_in(source, f"JSON of the {kind} API")


def _anthropic(talk: Conversation, exchange: _Exchange, answer: JsonValue) -> Usage | None:
    talk.say("system", text_of(exchange.request.get("system")))
    for index, message in enumerate(items(exchange.request.get("messages"))):
        add_message(talk, {**fields(message), "id": f"message {index}"})
    response = {"role": "assistant", **fields(answer)}
    add_message(talk, response)
    if response.get("stop_reason") in ("max_tokens", "refusal"):
        talk.note(f"The answer ended with {string(response.get('stop_reason'))}.")
    return usage_of(response.get("usage"))


def _openai(talk: Conversation, exchange: _Exchange, answer: JsonValue) -> Usage | None:
    for index, message in enumerate(items(exchange.request.get("messages"))):
        add_chat_message(talk, fields(message), f"message {index}")
    choice = fields(answer)
    add_chat_message(talk, fields(choice.get("message")), "answer")
    if choice.get("finish_reason") in ("length", "content_filter"):
        talk.note(f"The answer ended with {string(choice.get('finish_reason'))}.")
    tokens = fields(exchange.response.get("usage"))
    if not tokens:
        return None
    cached = count(fields(tokens.get("prompt_tokens_details")).get("cached_tokens"))
    prompt = count(tokens.get("prompt_tokens"))
    output = count(tokens.get("completion_tokens"))
    return Usage(input=max(prompt - cached, 0), output=output, cache_read=cached)


def _answers(exchange: _Exchange) -> list[JsonValue]:
    """The choices, or the one response."""
    return items(exchange.response.get("choices")) or [exchange.response]


def _exchanges(documents: Iterator[JsonValue]) -> Iterator[_Exchange]:
    """Each document's request and response; bare messages after another are one request."""
    bare: list[JsonValue] = []
    for document in documents:
        parts = items(document) if isinstance(document, list) else [document]
        rest: list[JsonValue] = []
        for part in parts:
            (bare if _is_bare(fields(part)) else rest).append(part)
        if rest and bare:
            yield _Exchange({}, {"messages": bare}, {})
            bare = []
        if rest:
            yield _paired([fields(part) for part in rest])
        elif isinstance(document, list) and bare:
            yield _Exchange({}, {"messages": bare}, {})
            bare = []
    if bare:
        yield _Exchange({}, {"messages": bare}, {})


def _is_bare(part: dict[str, JsonValue]) -> bool:
    return "role" in part and part.get("type") != "message" and "messages" not in part


def _paired(parts: list[dict[str, JsonValue]]) -> _Exchange:
    outer = parts[0]
    if "request" in outer or "response" in outer:
        request, response = fields(outer.get("request")), fields(outer.get("response"))
        # Recorders of HTTP put the JSON one level deeper.
        return _Exchange(
            outer,
            fields(request.get("body")) or request,
            fields(response.get("body")) or response,
        )
    request = next((part for part in parts if "messages" in part), {})
    answers = (part for part in parts if "content" in part or "choices" in part)
    return _Exchange({}, request, next(answers, {}))
