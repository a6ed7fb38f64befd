"""Content blocks of the Anthropic API: its own JSON and logs of Claude Code are made of them."""

import re

from pydantic import JsonValue

from harness.domain.file_edit import SeenWhole
from harness.domain.transcript import CallStatus, Usage
from harness.transcripts.conversation import Conversation, Role
from harness.transcripts.values import as_text, count, fields, items, string

# How Claude Code says no; the flag is_error is not always set then.
_DENIED = re.compile(
    r"The user doesn't want to (?:proceed|take this action)|Claude requested permissions"
    r"|Permission to use|User rejected|The user rejected|Tool use was rejected"
)
_FAILED = re.compile(r"<tool_use_error>|InputValidationError")
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)


def add_message(
    talk: Conversation,
    message: dict[str, JsonValue],
    *,
    folder: str = "",
    before: SeenWhole | None = None,
    by_subagent: bool = False,
) -> None:
    """Add all blocks of one message to the conversation; tool results go to the calls that they answer.
    Of a subagent's message only the calls are kept, for the files that they change.
    """
    role: Role = "assistant" if message.get("role") == "assistant" else "user"
    if message.get("role") in ("system", "developer"):
        role = "system"
    key = string(message.get("id"))
    content = message.get("content")
    for value in [content] if isinstance(content, str) else items(content):
        block = fields(value)
        kind = string(block.get("type"))
        if by_subagent and (isinstance(value, str) or kind == "text"):
            continue
        if isinstance(value, str) or kind == "text":
            text = string(value) if isinstance(value, str) else string(block.get("text"))
            talk.say(role, text if role == "assistant" else _REMINDER.sub("", text), key)
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            call_id, name = string(block.get("id")), string(block.get("name"))
            talk.call(call_id, name, block.get("input"), key, folder, by_subagent=by_subagent)
        elif kind.endswith("tool_result"):
            text = text_of(block.get("content"))
            talk.result(string(block.get("tool_use_id")), text, status_of(block, text), before)


def text_of(content: JsonValue) -> str:
    """The text of a result: a string, blocks, or nothing."""
    if isinstance(content, dict):  # server tools: an object with what the tool printed
        return as_text(content.get("stdout") or content.get("content") or "")
    if not isinstance(content, list):
        return string(content)
    parts = (string(part) or string(fields(part).get("text")) for part in content)
    return "\n".join(part for part in parts if part)


def status_of(block: dict[str, JsonValue], text: str) -> CallStatus:
    """How a call ended, by the flag and, where the flag is silent, by the tool's own words."""
    start = text.lstrip()[:200]
    if _DENIED.match(start):
        return "denied"
    inner = fields(block.get("content"))
    failed_inside = "error_code" in inner or inner.get("return_code", 0) not in (0, None)
    if block.get("is_error") is True or _FAILED.match(start) or failed_inside:
        return "error"
    return "ok"


def usage_of(value: JsonValue) -> Usage | None:
    """Tokens of one message, in the words of the Anthropic API."""
    record = fields(value)
    if "output_tokens" not in record and "input_tokens" not in record:
        return None
    return Usage(
        input=count(record.get("input_tokens")),
        output=count(record.get("output_tokens")),
        cache_read=count(record.get("cache_read_input_tokens")),
        cache_write=count(record.get("cache_creation_input_tokens")),
    )


class TokenMeter:
    """Adds up the tokens of messages. Lines that repeat a message's usage count once, with the largest
    figures.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._message = 0
        self._now = (0, 0, 0, 0)
        self._total = (0, 0, 0, 0)

    def add(self, message_id: str, value: JsonValue) -> None:
        """Take the usage that one line reports for a message."""
        usage = usage_of(value)
        if usage is None:
            return
        message = hash(message_id) if message_id else len(self._seen) + 1
        if message != self._message:
            self._total, self._now = self._sum(), (0, 0, 0, 0)
            self._message = message
        if message in self._seen and self._now == (0, 0, 0, 0):
            return  # a copy of an earlier message: a resumed session repeats its beginning
        self._seen.add(message)
        said = (usage.input, usage.output, usage.cache_read, usage.cache_write)
        self._now = max(self._now, said, key=lambda tokens: tokens[1])

    def total(self) -> Usage | None:
        """The sum over all messages; ``None`` where no line reported any."""
        tokens = self._sum()
        if not any(tokens):
            return None
        return Usage(input=tokens[0], output=tokens[1], cache_read=tokens[2], cache_write=tokens[3])

    def _sum(self) -> tuple[int, int, int, int]:
        a, b = self._total, self._now
        return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])
