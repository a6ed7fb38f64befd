"""Codex: the rollout that a session leaves behind, and what ``codex exec --json`` prints.

A rollout says everything twice, as ``response_item`` and as ``event_msg``; the first is read.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.domain.transcript import CallStatus, Origin, Transcript, Unreadable, Usage
from harness.transcripts.conversation import Conversation, Role
from harness.transcripts.lines import Records, nothing_in
from harness.transcripts.source import Source
from harness.transcripts.values import (
    arguments,
    as_text,
    count,
    fields,
    first,
    items,
    parsed,
    string,
)

# What the program puts in the user's mouth.
_INJECTED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|permissions|turn_aborted|skill"
    r"|collaboration_mode|user_shell_command|subagent_notification)\b|# AGENTS\.md instructions)"
)
_EXIT = re.compile(r"(?:exit(?:ed with)? code|exited with code)[:\s]+(-?\d{1,9})", re.IGNORECASE)
_OUTPUT = re.compile(r"(?:\A|\n)(?:Output|Total output lines: \d+\n\nOutput):\n")
_FAILED = re.compile(
    r"\s*(?:apply_patch verification failed|execution error|failed|error|exec_command failed"
    r"|patch rejected|unsupported call|invalid patch)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\s*(?:rejected|exec command rejected|patch rejected|aborted)", re.IGNORECASE)


def read_codex_rollout(source: Source) -> Iterator[Transcript | Unreadable]:
    """A session as it lies on disk."""
    yield from _read(source, "codex-rollout", _CodexSession.rollout_line)


def read_codex_exec(source: Source) -> Iterator[Transcript | Unreadable]:
    """Items of a run as they were finished. It does not hold the prompt, nor what patches did."""
    yield from _read(source, "codex-exec", _CodexSession.exec_line)


def _read(
    source: Source, kind: str, line: "Callable[[_CodexSession, dict[str, JsonValue]], None]"
) -> Iterator[Transcript | Unreadable]:
    session = _CodexSession()
    records = Records(source)
    for record in records:
        line(session, record)
    for note in records.notes():
        session.talk.note(note)
    if session.talk.empty:
        yield nothing_in(source, f"a log of Codex ({kind})")
        return
    yield session.talk.transcript(
        agent=session.facts.get("model", "codex"),
        origin=Origin(file=source.name, format=kind),
        facts=session.facts.items(),
        usage=session.usage,
    )


@dataclass(slots=True)
class _CodexSession:
    talk: Conversation = field(default_factory=Conversation)
    facts: dict[str, str] = field(default_factory=dict)
    usage: Usage | None = None

    def rollout_line(self, record: dict[str, JsonValue]) -> None:
        """One line; the first rollouts had the items bare."""
        payload = fields(record.get("payload")) or record
        match string(record.get("type")):
            case "session_meta" | "turn_context":
                self._learn(payload)
            case "event_msg":
                self._event(payload)
            case "compacted":
                self.talk.say("system", string(payload.get("message")))
            case _:
                self._item(payload)

    def exec_line(self, record: dict[str, JsonValue]) -> None:
        """One event; only finished items say something new."""
        item = fields(record.get("item"))
        match string(record.get("type")):
            case "thread.started":
                self.facts["thread"] = string(record.get("thread_id"))
            case "turn.completed":
                self.usage = _tokens(fields(record.get("usage"))) or self.usage
            case "turn.failed" | "error":
                self.talk.note("A turn failed.")
            case "item.completed":
                self._finished(item)

    def _learn(self, payload: dict[str, JsonValue]) -> None:
        for key in ("id", "cwd", "model", "cli_version", "originator"):
            if value := string(payload.get(key)):
                self.facts[key] = value

    def _event(self, payload: dict[str, JsonValue]) -> None:
        if payload.get("type") == "token_count":
            total = fields(fields(payload.get("info")).get("total_token_usage"))
            self.usage = _tokens(total) or self.usage
        elif payload.get("type") == "patch_apply_end" and payload.get("success") is False:
            self.talk.deny(string(payload.get("call_id")))

    def _item(self, item: dict[str, JsonValue]) -> None:
        call_id, folder = first(item, "call_id", "id"), self.facts.get("cwd", "")
        match string(item.get("type")):
            case "message":
                self._message(item)
            case "function_call":
                given = arguments(item.get("arguments"))
                self.talk.call(call_id, string(item.get("name")), given, "turn", folder)
            case "custom_tool_call":
                given = item.get("input")
                self.talk.call(call_id, string(item.get("name")), given, "turn", folder)
            case "local_shell_call":
                self.talk.call(call_id, "local_shell", item.get("action"), "turn", folder)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                text, status = _outcome(item.get("output"))
                self.talk.result(string(item.get("call_id")), text, status)

    def _message(self, item: dict[str, JsonValue]) -> None:
        content = item.get("content")
        parts = [content] if isinstance(content, str) else items(content)
        for part in parts:
            text = string(part) or string(fields(part).get("text"))
            role: Role = "system"
            if item.get("role") == "assistant":
                role = "assistant"
            elif item.get("role") == "user" and not _INJECTED.match(text):
                role = "user"
            self.talk.say(role, text, "turn" if role == "assistant" else "")

    def _finished(self, item: dict[str, JsonValue]) -> None:
        call_id = string(item.get("id"))
        status = _ended(item)
        match first(item, "type", "item_type"):
            case "agent_message" | "assistant_message":
                self.talk.say("assistant", string(item.get("text")), "turn")
            case "command_execution":
                given: JsonValue = {"command": _script(item.get("command"))}
                self.talk.call(call_id, "shell", given, "turn")
                self.talk.result(call_id, as_text(item.get("aggregated_output")), status)
            case "file_change":
                self.talk.call(call_id, "file_change", {"changes": item.get("changes")}, "turn")
                self.talk.result(call_id, "", status)
            case "mcp_tool_call":
                self.talk.call(call_id, string(item.get("tool")), item.get("arguments"), "turn")
                self.talk.result(call_id, as_text(item.get("result")), status)


def _script(command: JsonValue) -> JsonValue:
    """``bash -lc '...'`` as one string is an argument list that was joined."""
    text = string(command)
    if not re.match(r"\S*sh -l?c ", text):
        return command
    try:
        return list(shlex.split(text))
    except ValueError:
        return command


def _ended(item: dict[str, JsonValue]) -> CallStatus:
    code = item.get("exit_code")
    if item.get("status") == "declined":
        return "denied"
    failed = item.get("status") in ("failed", "in_progress") or bool(item.get("error"))
    return "error" if failed or (isinstance(code, int) and code != 0) else "ok"


def _outcome(output: JsonValue) -> tuple[str, CallStatus]:
    """What a tool printed and how it ended, out of four ways of writing it down."""
    if isinstance(output, list):
        output = "\n".join(first(fields(part), "text") for part in output)
    inner = output if isinstance(output, dict) else parsed(string(output)[:1] and string(output))
    if isinstance(inner, dict) and ("output" in inner or "content" in inner):
        text = as_text(inner.get("output", inner.get("content")))
        code = fields(inner.get("metadata")).get("exit_code", 0)
        failed = inner.get("success") is False or code != 0
    else:
        text, failed = string(output), False
    exit_line = _EXIT.search(text[:400])
    if _DENIED.match(text):
        return text, "denied"
    if failed or (exit_line and int(exit_line[1]) != 0) or (not exit_line and _FAILED.match(text)):
        return text, "error"
    body = _OUTPUT.search(text[:1000]) if exit_line else None
    return (text[body.end() :] if body else text), "ok"


def _tokens(usage: dict[str, JsonValue]) -> Usage | None:
    if "output_tokens" not in usage:
        return None
    cached = count(usage.get("cached_input_tokens"))
    return Usage(
        input=max(count(usage.get("input_tokens")) - cached, 0),
        output=count(usage.get("output_tokens")),
        cache_read=cached,
    )
