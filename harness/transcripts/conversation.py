"""Puts a conversation together from pieces that arrive in the order of the file.

The result is bounded: of a conversation that is longer than ``_BUDGET`` the beginning and the end
are kept, and the files as they were in between.
"""

import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import JsonValue

from harness.domain.file_edit import FileEdit, SeenWhole
from harness.domain.transcript import (
    CallStatus,
    Fact,
    Gap,
    Message,
    Origin,
    ToolCall,
    Transcript,
    Usage,
)
from harness.transcripts.edits import edits_of_call, said_by_call, told_by_call
from harness.transcripts.files import Files
from harness.transcripts.values import as_text, clean

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

_BUDGET = 48 << 20
_BEGINNING = _BUDGET // 8
_FIRST = 64
_OVERHEAD = 2500  # bytes of a message without any text
_TEXT_OVERHEAD = 150
_LONGEST_MESSAGE = 8 << 20
_INPUT_KEPT = 20_000
_RESULT_KEPT = 4_000


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    given: JsonValue
    folder: str
    edits: tuple[FileEdit, ...]
    status: CallStatus = "pending"
    result: str = ""
    by_subagent: bool = False


@dataclass(slots=True)
class _Draft:
    role: Role
    key: str
    texts: list[str] = field(default_factory=list)
    said: set[int] = field(default_factory=set)
    calls: list[_Call] = field(default_factory=list)
    weight: int = 0
    late: bool = False


class Conversation:
    """Collects texts, tool calls and results, and gives a ``Transcript``."""

    def __init__(self) -> None:
        self._beginning: list[_Draft] = []
        self._end: deque[_Draft] = deque()
        self._weights = [0, 0]
        self._open: dict[str, tuple[_Draft, _Call]] = {}
        self._gone = 0
        self._files: Files | None = None
        self.notes: dict[str, None] = {}

    def say(self, role: Role, text: str, key: str = "") -> None:
        """Add a text. Consecutive texts with the same role and key (a message's id) become one
        message.
        """
        if not text.strip():
            return
        draft = self._draft(role, key)
        if key and hash(text) in draft.said:
            return  # a message that is split over lines may repeat what it had
        draft.said.add(hash(text))
        draft.texts.append(text)
        self._grow(draft, sys.getsizeof(text) + _TEXT_OVERHEAD)

    def call(
        self,
        call_id: str,
        name: str,
        given: JsonValue,
        key: str = "",
        folder: str = "",
        *,
        by_subagent: bool = False,
    ) -> None:
        """Add a tool call of the assistant, or of a subagent."""
        if call_id and call_id in self._open:
            return
        if not by_subagent:
            self.say("assistant", said_by_call(name, given), key)
        edits = edits_of_call(name, given, folder)
        text = as_text(given)
        # Kept whole only where a result may need it to say which file was shown.
        short = given if len(text) <= _INPUT_KEPT else _cut(text, _INPUT_KEPT)
        call = _Call(call_id, name, short, folder, edits, by_subagent=by_subagent)
        draft = self._draft("assistant", key)
        draft.calls.append(call)
        if call_id:
            self._open[call_id] = (draft, call)
        written = sys.getsizeof(text) if edits else 0
        self._grow(draft, _OVERHEAD + min(len(text), _INPUT_KEPT) * 4 + written)

    def result(
        self, call_id: str, text: str, status: CallStatus = "ok", before: SeenWhole | None = None
    ) -> None:
        """Add the result of a call. ``before``: a file as it was before the call, where the log shows
        it.
        """
        draft, call = self._open.get(call_id, (None, None))
        if draft is None or call is None:
            self.say("tool", _cut(text, _RESULT_KEPT))
            return
        if call.status == "denied":
            return
        call.status = status
        call.result = _cut(text, _RESULT_KEPT)
        told = told_by_call(call.name, call.given, text, call.folder)
        known = any(isinstance(edit, SeenWhole) for edit in call.edits)
        if status == "ok" and not known:
            call.edits = (before, *call.edits) if before else (*call.edits, *told)
            self._grow(draft, sys.getsizeof(text) if before or told else 0)
        self._grow(draft, sys.getsizeof(call.result))

    def deny(self, call_id: str) -> None:
        """Mark a call as denied by the user, whatever its result says."""
        _, call = self._open.get(call_id, (None, None))
        if call is not None:
            call.status = "denied"

    def awaits(self, call_id: str) -> bool:
        """Whether this call was made and has no result yet."""
        _, call = self._open.get(call_id, (None, None))
        return call is not None and call.status == "pending"

    def note(self, sentence: str) -> None:
        """Add a sentence for the reader of the transcript, such as what was left out."""
        self.notes.setdefault(sentence)

    @property
    def empty(self) -> bool:
        """Whether it has no text and no call."""
        return not self._beginning

    def transcript(
        self,
        *,
        agent: str,
        origin: Origin,
        scenario: str = "",
        facts: Iterable[tuple[str, str]] = (),
        usage: Usage | None = None,
    ) -> Transcript:
        """The finished conversation."""
        gap = None
        if self._files is not None:
            gap = Gap(
                after=len(self._beginning), messages=self._gone, files=tuple(self._files.states())
            )
            self.note(
                f"{self._gone} messages in the middle of a very long conversation are not kept."
            )
        return Transcript(
            messages=tuple(_message(d) for d in (*self._beginning, *self._end)),
            agent=agent,
            origin=origin,
            scenario=scenario or None,
            facts=tuple(Fact(key=clean(k), value=_cut(clean(v), 1000)) for k, v in facts if v),
            usage=usage,
            gap=gap,
            notes=tuple(self.notes),
        )

    def _draft(self, role: Role, key: str) -> _Draft:
        last = self._end[-1] if self._end else self._beginning[-1] if self._beginning else None
        if last and key and (last.role, last.key) == (role, key) and last.weight < _LONGEST_MESSAGE:
            return last
        draft = _Draft(role, key)
        if self._end or len(self._beginning) >= _FIRST or self._weights[0] > _BEGINNING:
            draft.late = True
            self._end.append(draft)
        else:
            self._beginning.append(draft)
        self._grow(draft, _OVERHEAD)
        return draft

    def _grow(self, draft: _Draft, weight: int) -> None:
        draft.weight += weight
        self._weights[draft.late] += weight
        while self._weights[1] > _BUDGET - _BEGINNING and len(self._end) > 1:
            self._forget(self._end.popleft())

    def _forget(self, draft: _Draft) -> None:
        if self._files is None:
            self._files = Files()
            for kept in self._beginning:
                self._follow(self._files, kept)
        self._follow(self._files, draft)
        self._gone += 1
        self._weights[1] -= draft.weight
        for call in draft.calls:
            self._open.pop(call.id, None)

    @staticmethod
    def _follow(files: Files, draft: _Draft) -> None:
        for call in draft.calls:
            if call.status == "ok":
                files.apply(call.edits, by_subagent=call.by_subagent)


def _message(draft: _Draft) -> Message:
    return Message(
        role=draft.role,
        text="\n\n".join(draft.texts),
        calls=tuple(
            ToolCall(
                id=call.id,
                name=call.name,
                input=_cut(as_text(call.given), _INPUT_KEPT),
                status=call.status,
                result=call.result,
                edits=call.edits,
                by_subagent=call.by_subagent,
            )
            for call in draft.calls
        ),
    )


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return (
        f"{text[: length // 2]}\n[... {len(text) - length} characters ...]\n{text[-length // 2 :]}"
    )
