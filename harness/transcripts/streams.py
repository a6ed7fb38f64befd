"""Many answers in one file: JSON lines, an answer each, and tar archives of files of any format."""

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, cast

from pydantic import JsonValue

from harness.domain.transcript import Fact, Message, Origin, Transcript, Unreadable
from harness.transcripts.source import Line, Source
from harness.transcripts.values import clean, parsed, scalar, string
from harness.untrusted import LONGEST

ANSWER = "answer"
"""The field of a line that holds what was answered."""

_LINE = (
    f"a JSON object with the text `{ANSWER}`, and `scenario`, `prompt`, `id` and `model` if known"
)
_DAMAGE = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError)

_BLOCK = 512
_GZ, _BZ, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ"

ReadsOne = Callable[[str, bytes], Iterator[Transcript | Unreadable]]
"""Reads one file by its name and its bytes."""


def read_answer_lines(source: Source) -> Iterator[Transcript | Unreadable]:
    """One answer a line; a line that is none is told, and the rest goes on."""
    for line in source.lines():
        yield _of_line(source, line)


def _of_line(source: Source, line: Line) -> Transcript | Unreadable:
    where = f"line {line.number}"
    if line.content is None:
        return Unreadable(file=source.name, expected=_LINE, sentence=f"{where} is too long")
    record = parsed(line.content.decode("utf-8", "replace"))
    if not isinstance(record, dict) or not string(record.get(ANSWER)).strip():
        cut = "" if line.ended else "; the file may be cut off"
        sentence = f"{where} holds no answer{cut}"
        return Unreadable(file=source.name, expected=_LINE, sentence=sentence)
    asked = string(record.get("prompt"))
    question = (Message(role="user", text=clean(asked)),) if asked.strip() else ()
    answer = Message(role="assistant", text=clean(string(record[ANSWER])))
    facts = {key: text for key in ("id", "model", "scenario") if (text := _word(record.get(key)))}
    return Transcript(
        messages=(*question, answer),
        agent=facts.get("model", "unknown"),
        origin=Origin(file=source.name, format="json-lines", position=where),
        scenario=facts.get("scenario"),
        facts=tuple(Fact(key=key, value=value) for key, value in facts.items()),
    )


def _word(value: JsonValue) -> str:
    return clean(scalar(value))[:200]


def is_tar(head: bytes) -> bool:
    """Whether a file begins as an archive, packed or not."""
    try:
        if head.startswith(_GZ):
            head = zlib.decompressobj(31).decompress(head, _BLOCK)
        elif head.startswith(_BZ):
            head = bz2.BZ2Decompressor().decompress(head, _BLOCK)
        elif head.startswith(_XZ):
            head = lzma.LZMADecompressor().decompress(head, _BLOCK)
    except (zlib.error, lzma.LZMAError, OSError, EOFError):
        return False
    return head[257:262] == b"ustar"


def read_tar(source: Source, read: ReadsOne) -> Iterator[Transcript | Unreadable]:
    """Each file of an archive, in its order, as it is unpacked: packed or not, nothing is written."""
    source.stream.seek(0)
    seen = False
    try:
        with (
            _unpacked(source) as stream,  # in blocks: of what is cut off the last piece is lost
            tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK) as archive,
        ):
            for member in archive:
                if member.isfile():
                    seen = True
                    yield from _member(source, archive, member, read)
    except _DAMAGE as error:
        told = f"its archive is damaged ({type(error).__name__}); what came before that is read"
        yield Unreadable(file=source.name, expected="a tar archive", sentence=told)
        return
    if _is_cut_off(source):  # which tarfile takes for its end
        told = "its archive is cut off; what came before that is read"
        yield Unreadable(file=source.name, expected="a whole tar archive", sentence=told)
    elif not seen:
        yield Unreadable(
            file=source.name, expected="a tar archive of answers", sentence="it is empty"
        )


def _unpacked(source: Source) -> AbstractContextManager[IO[bytes]]:
    """What is packed, piece by piece: ``tarfile`` itself unpacks ten kilobytes at once, which may be
    gigabytes of one byte.
    """
    head = source.head(len(_XZ))
    source.stream.seek(0)
    if head.startswith(_GZ):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=source.stream, mode="rb"))
    if head.startswith(_BZ):
        return bz2.BZ2File(source.stream)
    return lzma.LZMAFile(source.stream) if head == _XZ else nullcontext(source.stream)


def _is_cut_off(source: Source) -> bool:
    """Whether an archive that is not packed lacks the empty block at its end."""
    if source.head(_BLOCK)[257:262] != b"ustar":
        return False
    size = source.stream.seek(0, 2)
    source.stream.seek(max(0, size - _BLOCK))
    return size % _BLOCK != 0 or any(source.stream.read(_BLOCK))


def _member(
    source: Source, archive: tarfile.TarFile, member: tarfile.TarInfo, read: ReadsOne
) -> Iterator[Transcript | Unreadable]:
    name = f"{source.name}: {clean(member.name)}"
    file = archive.extractfile(member) if member.size <= LONGEST else None
    if file is None:
        said = f"it is larger than {LONGEST >> 20} MiB"
        yield Unreadable(file=name, expected="a file of an archive", sentence=said)
        return
    yield from read(name, file.read())
