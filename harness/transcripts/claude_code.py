"""Sessions of Claude Code as they lie on disk: one JSON object a line, joined to a tree.

Two passes: the first learns who follows whom, the second reads the lines of the live conversation.
Neither holds the file.
"""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.domain.file_edit import SeenWhole
from harness.domain.transcript import Origin, Transcript, Unreadable, Usage
from harness.transcripts.blocks import TokenMeter, add_message
from harness.transcripts.conversation import Conversation
from harness.transcripts.lines import Records, nothing_in
from harness.transcripts.places import resolved
from harness.transcripts.source import Source
from harness.transcripts.values import fields, items, string

_CONTINUED = "This session is being continued from a previous conversation"
# What the program writes for the person: commands and what they printed.
_BY_PROGRAM = re.compile(
    r"\s*<(?:command-|local-command-|bash-|task-notification)|\s*Caveat: The mess"
)
_NONE = -1


def read_claude_code(source: Source) -> Iterator[Transcript | Unreadable]:
    """The live conversation: from the last line back to the root, with what subagents did to files."""
    tree = _Tree()
    for record in Records(source):
        tree.add(record)
    wanted, messages = tree.live()
    talk = Conversation()
    session = _ClaudeSession()
    records = Records(source)
    for position, record in enumerate(records):
        live = position in wanted or hash(_message_id(record)) in messages
        side = record.get("isSidechain") is True and not tree.all_side
        if live or side or any(talk.awaits(call) for call in _answered(record)):
            session.read(talk, record, by_subagent=side)
    for note in records.notes():
        talk.note(note)
    if talk.empty:
        yield nothing_in(source, "a session of Claude Code")
        return
    yield talk.transcript(
        agent=session.facts.get("model", "claude-code"),
        origin=Origin(file=source.name, format="claude-code"),
        facts=session.facts.items(),
        usage=tree.usage(),
    )


class _Tree:
    """Who follows whom, by line; a few bytes a line."""

    def __init__(self) -> None:
        self._at: dict[int, int] = {}
        self._parent = array("q")
        self._message = array("q")
        self._leaf = self._side_leaf = _NONE
        self._last_main = _NONE
        self._meter = TokenMeter()

    @property
    def all_side(self) -> bool:
        """Whether the file is a subagent's own, in which every line is marked as a side line."""
        return self._leaf == _NONE

    def add(self, record: dict[str, JsonValue]) -> None:
        """Take the next line of the file."""
        position = len(self._parent)
        said = record.get("type") in ("user", "assistant") and isinstance(
            record.get("message"), dict
        )
        self._parent.append(self._parent_of(record))
        message = _message_id(record)
        self._message.append(hash(message) if message else 0)
        if uuid := string(record.get("uuid")):
            self._at.setdefault(hash(uuid), position)
        if record.get("isSidechain") is not True:
            self._last_main = position
            self._leaf = position if said else self._leaf
        elif said:
            self._side_leaf = position
        if message:
            self._meter.add(message, fields(record.get("message")).get("usage"))

    def live(self) -> tuple[set[int], set[int]]:
        """Numbers of the lines from the last one back to the root, and ids of the messages that they
        belong to.
        """
        chain: set[int] = set()
        at = self._side_leaf if self.all_side else self._leaf
        while at != _NONE and at not in chain:
            chain.add(at)
            at = self._parent[at]
        messages = {self._message[i] for i in chain} - {0}
        return chain, messages

    def usage(self) -> Usage | None:
        """What all messages cost, each once."""
        return self._meter.total()

    def _parent_of(self, record: dict[str, JsonValue]) -> int:
        named = string(record.get("parentUuid")) or string(record.get("logicalParentUuid"))
        if named:
            # A parent that is not in the file (a line that could not be read): the line before.
            return self._at.get(hash(named), self._last_main)
        # A summary that opens a new tree goes on where the old one stopped.
        rootless = "uuid" not in record or _continues(record)
        return self._last_main if rootless else _NONE


@dataclass(slots=True)
class _ClaudeSession:
    facts: dict[str, str] = field(default_factory=dict)

    def read(self, talk: Conversation, record: dict[str, JsonValue], *, by_subagent: bool) -> None:
        """One line of the live conversation, or of a subagent's."""
        message = fields(record.get("message"))
        if not message or record.get("type") not in ("user", "assistant"):
            return
        if by_subagent:
            folder, role = string(record.get("cwd")), string(record.get("type"))
            shown = seen_in(record.get("toolUseResult"), folder)
            said = {**message, "role": role}
            add_message(talk, said, folder=folder, before=shown, by_subagent=True)
            return
        if record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
            talk.note("The API failed during the conversation.")
            return
        for key in ("sessionId", "version", "cwd", "gitBranch"):
            self.facts.setdefault(key, string(record.get(key)))
        if record.get("type") == "assistant" and (model := string(message.get("model"))):
            self.facts["model"] = model
        self._say(talk, record, {**message, "role": string(record.get("type"))})

    @staticmethod
    def _say(
        talk: Conversation, record: dict[str, JsonValue], message: dict[str, JsonValue]
    ) -> None:
        folder = string(record.get("cwd"))
        if _continues(record):
            add_message(talk, {**message, "role": "system"}, folder=folder)
        elif record.get("isMeta") is True or _BY_PROGRAM.match(_opening(message)):
            return
        else:
            shown = seen_in(record.get("toolUseResult"), folder)
            add_message(talk, message, folder=folder, before=shown)


def seen_in(result: JsonValue, folder: str) -> SeenWhole | None:
    """The whole file that Claude Code keeps beside a result: what was read, or was there before."""
    record = fields(result)
    file = fields(record.get("file"))
    if isinstance(record.get("originalFile"), str):
        path = string(record.get("filePath"))
        content: JsonValue = record.get("originalFile")
    elif file.get("startLine") == 1 and file.get("numLines") == file.get("totalLines"):
        path, content = string(file.get("filePath")), file.get("content")
    else:
        return None
    if not path or not isinstance(content, str):
        return None
    return SeenWhole(path=resolved(path, folder), content=string(content))


def _message_id(record: dict[str, JsonValue]) -> str:
    """The id that the lines of one API message share."""
    if record.get("type") != "assistant":
        return ""
    return string(fields(record.get("message")).get("id")) or string(record.get("uuid"))


def _answered(record: dict[str, JsonValue]) -> list[str]:
    """The calls that it answers: results of parallel calls hang beside the live chain."""
    if record.get("type") != "user":
        return []
    blocks = map(fields, items(fields(record.get("message")).get("content")))
    return [string(block.get("tool_use_id")) for block in blocks]


def _opening(message: dict[str, JsonValue]) -> str:
    content = message.get("content")
    block = next(iter(items(content)), None)
    return (string(content) or string(fields(block).get("text")))[:200]


def _continues(record: dict[str, JsonValue]) -> bool:
    if record.get("isCompactSummary") is True:
        return True
    return _opening(fields(record.get("message"))).startswith(_CONTINUED)
