"""A transcript as it was said, cut at its code blocks; what was proposed is marked."""

import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from harness.domain.answer import Alternative
from harness.domain.transcript import Message, ToolCall, Transcript
from harness.extraction.blocks import blocks_of
from harness.extraction.markers import without_wrong_parts
from harness.markdown import fenced_blocks

_LONGEST = 40_000  # characters of one piece of text that is shown


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of code."""

    text: str
    """As it stands there."""
    proposed: bool
    """Whether it is part of a program that was judged, where others of its block are not."""


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A stretch of a message."""

    text: str = ""
    """Prose, as it was written; empty where this is code."""
    lines: tuple[CodeLine, ...] = ()
    """Code, line by line; none where this is prose."""
    info: str = ""
    """What stands behind the opening fence."""
    proposed: bool = False
    """Whether a program that was judged was made of it."""


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message."""

    role: str
    """Who speaks."""
    parts: tuple[MessagePart, ...]
    """What is said."""
    calls: tuple[ToolCall, ...]
    """Tools that were used."""


def transcript_view(
    transcript: Transcript, alternatives: Sequence[Alternative]
) -> tuple[MessageView, ...]:
    """Every message; the code that the alternatives are made of is marked in the assistant's."""
    marker = _Marker(transcript, alternatives)
    return tuple(
        MessageView(message.role, tuple(_parts(message, marker)), tuple(map(_cut, message.calls)))
        for message in transcript.messages
    )


class _Marker:
    """Finds the blocks of the answer again by their number and their code."""

    def __init__(self, transcript: Transcript, alternatives: Sequence[Alternative]) -> None:
        self._blocks = list(blocks_of(transcript))
        self._numbers = {number for one in alternatives for number in _numbers(one.origin)}
        self._lines = {
            line.strip() for one in alternatives for line in one.program.split("\n") if line.strip()
        }

    def part(self, code: str, info: str) -> MessagePart:
        """The next block of the answer."""
        proposed = False
        if self._blocks and self._blocks[0].code == without_wrong_parts(textwrap.dedent(code)):
            proposed = self._blocks.pop(0).index + 1 in self._numbers
        return _code(code, info, self._lines if proposed else (), proposed=proposed)


def _numbers(origin: str) -> Iterator[int]:
    """``answer, Python blocks 1 and 3``: 1 and 3. A file that was edited has no number."""
    if origin.startswith("answer, Python block"):
        yield from map(int, re.findall(r"\d{1,6}", origin))


def _parts(message: Message, marker: _Marker) -> Iterator[MessagePart]:
    lines, done = message.text[:_LONGEST].split("\n"), 0
    for fence in fenced_blocks(message.text[:_LONGEST]):
        if prose := "\n".join(lines[done : fence.line - 1]).strip("\n"):
            yield MessagePart(text=prose)
        if message.role == "assistant":
            yield marker.part(fence.content, fence.info)
        else:
            yield _code(fence.content, fence.info, (), proposed=False)
        done = fence.line + fence.content.count("\n") + 1
    if prose := "\n".join(lines[done:]).strip("\n"):
        yield MessagePart(text=prose)
    if len(message.text) > _LONGEST:
        yield MessagePart(text=_more(message.text))


def _code(code: str, info: str, taken: Collection[str], *, proposed: bool) -> MessagePart:
    lines = code.rstrip("\n").split("\n")
    whole = all(line.strip() in taken for line in lines if line.strip())
    return MessagePart(
        lines=tuple(CodeLine(line, not whole and line.strip() in taken) for line in lines),
        info=info,
        proposed=proposed,
    )


def _cut(call: ToolCall) -> ToolCall:
    cut = {
        name: f"{said[:_LONGEST]}\n{_more(said)}"
        for name, said in (("input", call.input), ("result", call.result))
        if len(said) > _LONGEST
    }
    return call.model_copy(update=cut)


def _more(text: str) -> str:
    return f"[{len(text) - _LONGEST:,} more characters are not shown here]"
