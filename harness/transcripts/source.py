"""Any file or stream as seekable bytes in UTF-8, and as lines of bounded length."""

import codecs
import errno
import io
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, TextIO, TypeAlias, cast

from harness.untrusted import kind_of, shown

Openable: TypeAlias = str | Path | BinaryIO | TextIO
"""A path, ``-`` for standard input, or an open stream of bytes or text."""

LONGEST_LINE = 4 << 20
"""Bytes. JSON in memory is at most about 20 times its text, and several things are in memory."""
_LONGEST_RAW_LINE = 32 << 20
_LARGEST_STREAM = 1 << 30
_CHUNK = 1 << 20
_IN_MEMORY = 8 << 20

# A screenshot in a tool result: megabytes that no reader looks at, on a line that still matters.
_BASE64 = re.compile(rb'"[A-Za-z0-9+/=_-]{100000,}"')


class TooLarge(Exception):
    """More than any transcript needs."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file."""

    number: int
    """1-based."""
    content: bytes | None
    """Without its end; ``None`` when it is too long to look at."""
    ended: bool
    """Whether a line end follows. A last line without one may be cut off."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is open."""

    name: str
    """As people call it."""
    stream: IO[bytes]
    """Seekable."""

    def head(self, size: int) -> bytes:
        """The first bytes."""
        self.stream.seek(0)
        return self.stream.read(size)

    def lines(self) -> Iterator[Line]:
        """All lines that are not blank, from the start."""
        self.stream.seek(0)
        number = 0
        while raw := self.stream.readline(_LONGEST_RAW_LINE):
            number += 1
            whole = len(raw) < _LONGEST_RAW_LINE or raw.endswith(b"\n")
            ended = raw.endswith(b"\n") or (not whole and self._skip_rest())
            content = _bounded(raw) if whole else None
            if content is None or content:
                yield Line(number, content, ended)

    def _skip_rest(self) -> bool:
        while more := self.stream.readline(_CHUNK):
            if more.endswith(b"\n"):
                return True
        return False


@contextmanager
def opened(what: Openable) -> Iterator[Source]:
    """Open it for reading; what cannot be seeked goes through a temporary file.

    Raises:
        OSError: it cannot be opened or read.
        TooLarge: a stream that does not end.
    """
    if isinstance(what, str | Path) and str(what) != "-":
        path = Path(what)
        _refuse_kind(path)
        with path.open("rb") as file:
            regular = stat.S_ISREG(path.stat().st_mode)
            with _as_utf8(file if regular else _spooled(file)) as stream:
                yield Source(shown(what), stream)
        return
    if isinstance(what, str | Path):
        name, stream = "<stdin>", _standard_input()
    else:
        name, stream = name_of(what), _bytes_of(what)
    with _as_utf8(_spooled(stream)) as spooled:
        yield Source(name, spooled)


def _refuse_kind(path: Path) -> None:
    kind = kind_of(path)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a file; give what it holds to `-`")


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:  # what Python makes of a descriptor that was closed (`<&-`)
        raise OSError(errno.EBADF, "standard input is closed")
    return sys.stdin.buffer


def _bytes_of(stream: BinaryIO | TextIO) -> IO[bytes]:
    if isinstance(stream, io.TextIOBase):
        under = getattr(stream, "buffer", None)
        if under is not None:
            return cast("IO[bytes]", under)
        return io.BytesIO(stream.read().encode("utf-8", "surrogatepass"))
    return cast("IO[bytes]", stream)


def name_of(stream: object) -> str:
    """What people call an open stream."""
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "<stream>"


def _spooled(stream: IO[bytes]) -> IO[bytes]:
    spool = cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 (closed with the source)
    size = 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > _LARGEST_STREAM:
            spool.close()
            raise TooLarge
        spool.write(chunk)
    spool.seek(0)
    return spool


def _as_utf8(stream: IO[bytes]) -> IO[bytes]:
    """The stream, or a copy of it when it starts as UTF-16 (a redirect in PowerShell does)."""
    start = stream.read(2)
    stream.seek(0)
    if start not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return stream
    copy = cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 (closed with the source)
    with stream:
        reader = codecs.getreader("utf-16")(stream, "replace")
        while text := reader.read(_CHUNK):
            copy.write(text.encode("utf-8", "replace"))
    copy.seek(0)
    return copy


def _bounded(raw: bytes) -> bytes | None:
    content = raw.strip().removeprefix(codecs.BOM_UTF8)
    if len(content) > LONGEST_LINE:
        content = _BASE64.sub(b'""', content)
    return content if len(content) <= LONGEST_LINE else None
