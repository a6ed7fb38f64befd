"""One JSON document as a stream of events, and the parts of it that somebody wants."""

import codecs
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, TypeAlias

import ijson  # type: ignore[import-untyped]  # it ships no types
from pydantic import JsonValue

from harness.transcripts.source import TooLarge
from harness.transcripts.values import LONGEST_NUMBER, number

JsonEvent: TypeAlias = tuple[str, str | int | Decimal | bool | None]
"""What ijson says: ``start_map``, ``map_key``, ``string``, ... and its value."""

_DEEPEST = 200
_CHUNK = 1 << 16
_LONGEST_TOKEN = 1 << 20
_HELD_BACK = LONGEST_NUMBER + 100
_ODD = re.compile(rb"NaN|Infinity|[0-9]{%d}" % LONGEST_NUMBER)
_TOKEN = re.compile(rb'\\.|"|-?(?:NaN|Infinity)|-?[0-9]{%d,}' % LONGEST_NUMBER, re.DOTALL)


class Malformed(Exception):
    """Not JSON, cut off, or nested too deep. The message is half a sentence."""


def events(stream: IO[bytes], largest: int | None = None) -> Iterator[JsonEvent]:
    """Everything in the stream; several documents may follow one another.

    Raises:
        Malformed: at the first place that is not JSON.
        TooLarge: it is longer than ``largest``.
    """
    depth = 0
    utf8 = _Utf8(stream, largest)
    source = _Repaired(utf8) if _has_odd_numbers(stream) else utf8
    try:
        for kind, value in ijson.basic_parse(source, multiple_values=True):
            depth += (kind in ("start_map", "start_array")) - (kind in ("end_map", "end_array"))
            if depth > _DEEPEST:
                raise Malformed(f"it is nested more than {_DEEPEST} levels deep")
            yield kind, value
    except ijson.JSONError as error:
        cut = "premature EOF" in str(error) or "Incomplete" in str(error)
        problem = "its JSON ends in the middle" if cut else "it is not valid JSON"
        raise Malformed(problem) from None
    except UnicodeDecodeError:
        raise Malformed("a text in it holds half of a surrogate pair") from None


def build(
    start: JsonEvent, rest: Iterator[JsonEvent], leave_out: frozenset[str] = frozenset()
) -> JsonValue:
    """The value that starts with this event; fields of these names at its top are not kept."""
    root = _opened(start)
    if not isinstance(root, dict | list):
        return root
    stack, keys = [root], [""]
    while stack:
        event = _next(rest)
        if event[0] == "map_key":
            keys[-1] = str(event[1])
            if len(stack) == 1 and keys[-1] in leave_out:
                skip(_next(rest), rest)
        elif event[0] in ("end_map", "end_array"):
            stack.pop()
            keys.pop()
        else:
            value = _opened(event)
            _put(stack[-1], keys[-1], value)
            if isinstance(value, dict | list):
                stack.append(value)
                keys.append("")
    return root


def _opened(event: JsonEvent) -> JsonValue:
    """An empty object or array, or the value itself."""
    kind, value = event
    if kind in ("start_map", "start_array"):
        return {} if kind == "start_map" else []
    return number(value) if isinstance(value, Decimal) else value


def _put(holder: dict[str, JsonValue] | list[JsonValue], key: str, value: JsonValue) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.append(value)


def skip(start: JsonEvent, rest: Iterator[JsonEvent]) -> None:
    """Go past the value that starts with this event."""
    depth = 1 if start[0] in ("start_map", "start_array") else 0
    while depth:
        kind, _ = _next(rest)
        depth += (kind in ("start_map", "start_array")) - (kind in ("end_map", "end_array"))


def values(stream: IO[bytes]) -> Iterator[JsonValue]:
    """Every document of the stream, one after another."""
    flow = events(stream)
    for event in flow:
        yield build(event, flow)


def _next(flow: Iterator[JsonEvent]) -> JsonEvent:
    event = next(flow, None)
    if event is None:
        raise Malformed("its JSON ends in the middle")
    return event


def _has_odd_numbers(stream: IO[bytes]) -> bool:
    """Whether something JSON parsers choke on may be there; the stream is left at its start."""
    if not stream.seekable():
        return True
    stream.seek(0)
    before, found = b"", False
    while not found and (chunk := stream.read(1 << 20)):
        found = _ODD.search(before + chunk) is not None
        before = chunk[-_HELD_BACK:]
    stream.seek(0)
    return found


class _Utf8:
    """Reads valid UTF-8, whatever is underneath."""

    def __init__(self, stream: IO[bytes], largest: int | None) -> None:
        self._stream = stream
        self._left = largest
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")

    def read(self, size: int) -> bytes:
        """Up to about as many bytes; none at the end."""
        if size == 0:  # ijson asks so, to see whether it gets bytes or text
            return b""
        while True:
            chunk = self._stream.read(_CHUNK)
            if self._left is not None:
                self._left -= len(chunk)
                if self._left < 0:
                    raise TooLarge
            text = self._decoder.decode(chunk, final=not chunk)
            if text or not chunk:
                return text.encode()


class _Repaired:
    """Turns NaN, infinities and endless numbers, which JSON does not have, into null.

    Inspect writes a missing score as ``NaN``. Only what stands outside of strings is touched.
    """

    def __init__(self, stream: _Utf8) -> None:
        self._stream = stream
        self._pending = b""
        self._in_string = False

    def read(self, size: int) -> bytes:
        """Up to about as many bytes; none at the end."""
        if size == 0:
            return b""
        while True:
            chunk = self._stream.read(_CHUNK)
            done = self._repair(self._pending + chunk, last=not chunk)
            if done or not chunk:
                return done

    def _repair(self, data: bytes, *, last: bool) -> bytes:
        limit = len(data) if last else max(len(data) - _HELD_BACK, 0)
        out: list[bytes] = []
        at = 0
        for token in _TOKEN.finditer(data):
            if token.start() >= limit or (token.end() == len(data) and not last):
                limit = min(limit, token.start())
                break
            limit = max(limit, token.end())
            text = token.group()
            if text == b'"':
                self._in_string = not self._in_string
            elif not self._in_string and text[:1] != b"\\":
                out += [data[at : token.start()], b"null"]
                at = token.end()
        self._pending = data[limit:]
        if len(self._pending) > _LONGEST_TOKEN:
            raise Malformed("a number in it does not end")
        return b"".join([*out, data[at:limit]])
