"""What ``claude -p`` prints with ``--output-format stream-json`` or ``json``."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.domain.transcript import Origin, Transcript, Unreadable, Usage
from harness.transcripts.blocks import TokenMeter, add_message, usage_of
from harness.transcripts.claude_code import seen_in
from harness.transcripts.conversation import Conversation
from harness.transcripts.documents import build, events
from harness.transcripts.lines import Records, nothing_in
from harness.transcripts.source import Source
from harness.transcripts.values import fields, first, items, scalar, string


def read_claude_stream(source: Source) -> Iterator[Transcript | Unreadable]:
    """One object a line; one transcript a session."""
    records = Records(source)
    yield from _sessions(source, "claude-stream", iter(records), records)


def read_claude_json(source: Source) -> Iterator[Transcript | Unreadable]:
    """The last object alone, or with ``--verbose`` an array of them all."""
    yield from _sessions(source, "claude-json", _objects(source), None)


def _objects(source: Source) -> Iterator[dict[str, JsonValue]]:
    flow = events(source.stream)
    for event in flow:
        if event[0] in ("start_array", "end_array"):
            continue
        yield fields(build(event, flow))


def _sessions(
    source: Source, kind: str, records: Iterator[dict[str, JsonValue]], lines: Records | None
) -> Iterator[Transcript | Unreadable]:
    run = _StreamedRun()
    done = 0
    for record in records:
        new = string(record.get("type")) == "system" and record.get("subtype") == "init"
        if new and not run.talk.empty and run.session != first(record, "session_id", "sessionId"):
            done += 1
            yield run.transcript(source, kind, f"session {done}")
            run = _StreamedRun()
        run.read(record)
    for note in lines.notes() if lines else ():
        run.talk.note(note)
    if not run.talk.empty:
        yield run.transcript(source, kind, f"session {done + 1}" if done else "")
    elif not done:
        yield nothing_in(source, "what `claude -p` prints")


@dataclass(slots=True)
class _StreamedRun:
    talk: Conversation = field(default_factory=Conversation)
    session: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    meter: TokenMeter = field(default_factory=TokenMeter)
    final: Usage | None = None
    spoken: bool = False

    def read(self, record: dict[str, JsonValue]) -> None:
        """One object."""
        self.session = self.session or first(record, "session_id", "sessionId")
        match string(record.get("type")):
            case "system" if record.get("subtype") == "init":
                for key in ("model", "cwd", "permissionMode"):
                    self.facts.setdefault(key, string(record.get(key)))
            case "assistant" | "user":
                self._message(record)
            case "result":
                self._result(record)

    def transcript(self, source: Source, kind: str, position: str) -> Transcript:
        """The run so far."""
        facts = {"session": self.session, **self.facts}
        return self.talk.transcript(
            agent=self.facts.get("model") or "claude-code",
            origin=Origin(file=source.name, format=kind, position=position),
            facts=facts.items(),
            usage=self.final or self.meter.total(),
        )

    def _message(self, record: dict[str, JsonValue]) -> None:
        message = {**fields(record.get("message")), "role": string(record.get("type"))}
        if record.get("type") == "assistant":
            self.meter.add(string(message.get("id")), message.get("usage"))
        if record.get("isMeta") or record.get("isReplay"):
            return  # the program's own
        if record.get("type") == "assistant":
            self.spoken = True
            if model := string(message.get("model")):
                self.facts.setdefault("model", model)
        folder = self.facts.get("cwd", "")
        result = record.get("tool_use_result", record.get("toolUseResult"))
        side = bool(record.get("parent_tool_use_id"))
        shown = seen_in(result, folder)
        add_message(self.talk, message, folder=folder, before=shown, by_subagent=side)

    def _result(self, record: dict[str, JsonValue]) -> None:
        self.final = usage_of(record.get("usage")) or self.final
        for denial in items(record.get("permission_denials")):
            self.talk.deny(string(fields(denial).get("tool_use_id")))
        models = fields(record.get("modelUsage"))
        if len(models) == 1:
            self.facts.setdefault("model", string(next(iter(models))))
        if subtype := string(record.get("subtype")):
            self.facts["result"] = subtype
        self.facts["num_turns"] = scalar(record.get("num_turns"))
        if record.get("is_error") is True:
            self.talk.note("The run ended with an error.")
        elif not self.spoken:
            self.talk.say("assistant", string(record.get("result")))
