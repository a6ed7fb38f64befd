"""Logs of Inspect: one transcript a sample, from ``.json`` or from the archive ``.eval``."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import IO, Self, TypeAlias, cast

from pydantic import JsonValue

from harness.domain.packages import how_to_get
from harness.domain.transcript import CallStatus, Origin, Transcript, Unreadable, Usage
from harness.transcripts.blocks import add_message
from harness.transcripts.conversation import Conversation
from harness.transcripts.documents import JsonEvent, Malformed, build, events, skip
from harness.transcripts.lines import nothing_in
from harness.transcripts.source import Source, TooLarge
from harness.transcripts.values import as_text, clean, count, fields, first, items, scalar, string

_ZSTANDARD = 93  # as ZIP numbers it; zipfile itself learned it in Python 3.14
# Everything that a damaged archive makes zipfile and its decompressors raise.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
_LARGEST_SAMPLE = 256 << 20
_MOST_SAMPLES = 100_000
# Recorded beside the messages, many times as large, and said again in them.
_NOT_KEPT = frozenset({"events", "events_data", "store", "timelines"})
_ATTACHED = ("attachment://", "tc://")

Unpack: TypeAlias = Callable[[IO[bytes]], IO[bytes]]
"""Undoes Zstandard."""


def load_zstandard() -> Unpack | None:
    """The decompressor, where the package is installed."""
    try:
        import zstandard
    except ImportError:
        return None
    plain = zstandard.ZstdDecompressor()
    return lambda packed: cast(
        "IO[bytes]", _Unpacked(plain.stream_reader(packed), zstandard.ZstdError)
    )


def read_inspect_json(source: Source) -> Iterator[Transcript | Unreadable]:
    """A log as one JSON document, sample by sample."""
    flow = events(source.stream)
    event = next(flow, None)
    if event is None or event[0] != "start_map":
        raise Malformed("it is no JSON object")
    header: JsonValue = {}
    found = False
    for kind, key in flow:
        if kind != "map_key":
            break
        if key == "eval":
            header = build(next(flow), flow)
        elif key == "samples":
            for sample in _array(flow):
                found = True
                yield _transcript(source, "inspect-json", fields(header), fields(sample))
        else:
            skip(next(flow), flow)
    if not found:
        yield nothing_in(source, "an Inspect log with samples")


def read_inspect_eval(
    source: Source, load: Callable[[], Unpack | None] = load_zstandard
) -> Iterator[Transcript | Unreadable]:
    """A log as a zip archive, one file a sample."""
    source.stream.seek(0)
    try:
        with zipfile.ZipFile(source.stream) as archive:
            yield from _samples(source, archive, load)
    except _DAMAGE as error:
        raise Malformed(f"its archive is damaged ({type(error).__name__})") from None


def transcript_of_sample(sample: dict[str, JsonValue]) -> Transcript | Unreadable:
    """One sample that is still in memory, as it would be read from its log."""
    return _transcript(Source("<sample>", BytesIO()), "inspect-json", {}, sample)


def _samples(
    source: Source, archive: zipfile.ZipFile, load: Callable[[], Unpack | None]
) -> Iterator[Transcript | Unreadable]:
    entries = {entry.filename: entry for entry in archive.infolist()}  # the last of a name counts
    names = [n for n in entries if n.startswith("samples/") and n.endswith(".json")]
    zstandard = any(entry.compress_type == _ZSTANDARD for entry in entries.values())
    unpack = load() if zstandard else None
    if zstandard and unpack is None:
        yield Unreadable(
            file=source.name,
            expected="an Inspect log that can be unpacked here",
            sentence=f"it is compressed with Zstandard and {how_to_get(['zstandard'])}",
        )
        return
    header: JsonValue = {}
    for name in ("header.json", "_journal/start.json"):
        if name in entries and not header:
            header = fields(_entry(source, archive, entries[name], unpack)).get("eval")
    for name in names[:_MOST_SAMPLES]:
        yield _sample(source, archive, entries[name], unpack, fields(header))
    if not names:
        yield nothing_in(source, "an Inspect log with samples")


def _sample(
    source: Source,
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    unpack: Unpack | None,
    header: dict[str, JsonValue],
) -> Transcript | Unreadable:
    """One sample; one that cannot be read does not end the others."""
    try:
        sample = fields(_entry(source, archive, entry, unpack))
    except (Malformed, TooLarge, *_DAMAGE) as error:
        why = str(error) if isinstance(error, Malformed) else "it cannot be unpacked"
        return Unreadable(
            file=f"{source.name}: {clean(entry.filename)}", expected="a sample", sentence=why
        )
    return _transcript(source, "inspect-eval", header, sample)


def _entry(
    source: Source, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, unpack: Unpack | None
) -> JsonValue:
    if entry.compress_type == _ZSTANDARD and unpack is not None:
        stream = unpack(_raw(source.stream, entry))
    else:
        stream = archive.open(entry)
    with stream:
        flow = events(stream, _LARGEST_SAMPLE)
        return build(next(flow, ("null", None)), flow, _NOT_KEPT)


def _raw(stream: IO[bytes], entry: zipfile.ZipInfo) -> IO[bytes]:
    """The packed bytes of an entry, past its local header."""
    stream.seek(entry.header_offset)
    local = stream.read(30)
    if len(local) < 30 or local[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile
    name, extra = struct.unpack("<HH", local[26:30])
    stream.seek(name + extra, 1)
    return cast("IO[bytes]", _Slice(stream, stream.tell(), entry.compress_size))


class _Unpacked:
    """A decompressor whose complaint is one that zipfile has as well."""

    def __init__(self, stream: IO[bytes], complaint: type[Exception]) -> None:
        self._stream, self._complaint = stream, complaint

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def seekable(self) -> bool:
        """It goes forward only."""
        return False

    def read(self, size: int) -> bytes:
        """Up to as many bytes."""
        try:
            return self._stream.read(size)
        except self._complaint:
            raise EOFError from None


class _Slice:
    """A part of a file that others read as well."""

    def __init__(self, stream: IO[bytes], start: int, size: int) -> None:
        self._stream, self._at, self._left = stream, start, size

    def read(self, size: int = -1) -> bytes:
        """Up to as many bytes."""
        self._stream.seek(self._at)
        chunk = self._stream.read(self._left if size < 0 else min(size, self._left))
        self._at += len(chunk)
        self._left -= len(chunk)
        return chunk


def _array(flow: Iterator[JsonEvent]) -> Iterator[JsonValue]:
    start = next(flow)
    if start[0] != "start_array":
        skip(start, flow)
        return
    for event in flow:
        if event[0] == "end_array":
            return
        yield build(event, flow, _NOT_KEPT)


def _transcript(
    source: Source, kind: str, header: dict[str, JsonValue], sample: dict[str, JsonValue]
) -> Transcript | Unreadable:
    talk = Conversation()
    attached = fields(sample.get("attachments"))
    messages = items(sample.get("messages")) or _asked_and_answered(sample)
    for index, message in enumerate(messages):
        _add(talk, fields(message), f"message {index}", attached)
    named = " ".join(scalar(sample.get("id")).split())[:200]
    where = f"sample {named}, epoch {scalar(sample.get('epoch')) or 1}"
    if talk.empty:
        return Unreadable(
            file=source.name, expected="messages", sentence=f"{where} holds no message"
        )
    if error := fields(sample.get("error")):
        said = string(error.get("message"))[:200]
        if all(fields(message).get("role") != "assistant" for message in messages):
            told = f"{where} ended with an error before it was answered: {said}"
            return Unreadable(file=source.name, expected="an answer", sentence=told)
        talk.note(f"The sample ended with an error: {said}")
    if limit := fields(sample.get("limit")):
        talk.note(f"The sample reached its limit: {string(limit.get('type'))}.")
    facts = _facts(header, sample)
    return talk.transcript(
        agent=facts.get("model") or "unknown",
        origin=Origin(file=source.name, format=kind, position=where),
        scenario=facts.get("scenario") or facts.get("scenario_id", ""),
        facts=facts.items(),
        usage=_usage(sample),
    )


def _asked_and_answered(sample: dict[str, JsonValue]) -> list[JsonValue]:
    asked = sample.get("input")
    before = items(asked) or [{"role": "user", "content": asked}]
    choices = items(fields(sample.get("output")).get("choices"))
    return [*before, *(fields(choice).get("message") for choice in choices[:1])]


def _facts(header: dict[str, JsonValue], sample: dict[str, JsonValue]) -> dict[str, str]:
    told = {k: scalar(header.get(k)) for k in ("task", "task_id", "model", "created")}
    told |= {k: scalar(v) for k, v in fields(sample.get("metadata")).items()}
    told["sample"] = scalar(sample.get("id"))
    told["epoch"] = scalar(sample.get("epoch"))
    return {k: v for k, v in told.items() if v}


def _add(
    talk: Conversation, message: dict[str, JsonValue], key: str, attached: dict[str, JsonValue]
) -> None:
    role, content = string(message.get("role")), message.get("content")
    texts = (
        [content] if isinstance(content, str) else [fields(c).get("text") for c in items(content)]
    )
    texts = [attached.get(_name(text), text) for text in texts]
    if role == "tool":
        text = "\n".join(as_text(t) for t in texts if t)
        status, said = _status(fields(message.get("error")))
        talk.result(first(message, "tool_call_id"), text or said, status)
        return
    blocks: list[JsonValue] = [{"type": "text", "text": text} for text in texts]
    add_message(talk, {"id": key, "role": role, "content": blocks})
    for call in map(fields, items(message.get("tool_calls")) if role == "assistant" else ()):
        function = fields(call.get("function"))  # version 1 followed OpenAI here
        name = string(call.get("function")) or string(function.get("name"))
        given = call.get("arguments", function.get("arguments"))
        talk.call(string(call.get("id")), name, given, key)


def _name(text: JsonValue) -> str:
    """Of a text that is kept beside the messages."""
    value = string(text)[:200]
    return next((value.removeprefix(p) for p in _ATTACHED if value.startswith(p)), "\x00")


def _status(error: dict[str, JsonValue]) -> tuple[CallStatus, str]:
    if not error:
        return "ok", ""
    denied = error.get("type") in ("permission", "approval")
    return "denied" if denied else "error", string(error.get("message"))


def _usage(sample: dict[str, JsonValue]) -> Usage | None:
    parts = [fields(part) for part in fields(sample.get("model_usage")).values()]
    if not parts:
        return None

    def total(key: str) -> int:
        return sum(count(part.get(key)) for part in parts)

    return Usage(
        input=total("input_tokens"),
        output=total("output_tokens"),
        cache_read=total("input_tokens_cache_read"),
        cache_write=total("input_tokens_cache_write"),
    )
