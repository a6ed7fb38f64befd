"""A run in a folder: only ever added to, and whole after a kill at any moment.

``run.json`` says how the run was made, ``answers.jsonl`` has a line for each answer, and ``traces/``
a file for each trace, named by its content. A trace is there before the line that names it, and a
line counts once its end is written: what a kill cuts off is taken away at the next start.
"""

import errno
import fcntl
import gzip
import hashlib
import os
import zlib
from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal, Self

from pydantic import ValidationError

from harness.domain.errors import UsageError, reason
from harness.domain.stored import SCHEMA, GradedAnswer, RunHead, StoredAnswer
from harness.domain.trace import Trace
from harness.store.whole import write_whole
from harness.untrusted import kind_of, read_bytes

HEAD, LINES, TRACES = "run.json", "answers.jsonl", "traces"
_DRAFT = f".{HEAD}."
_NAME = 32  # hexadecimal digits of a trace's name
_LONGEST = 64 << 20
"""Bytes of an answer, or of a trace, that are read; the longest conversation that is kept has fewer."""


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return (folder / HEAD).is_file()


class RunFolder:
    """A stored run. Open for writing with ``create``, for reading with ``load``."""

    def __init__(self, folder: Path, head: RunHead, lines: BinaryIO) -> None:
        """Use ``create`` or ``load``."""
        self.folder = folder
        self.head = head
        self._lines = lines
        try:
            self._places = dict(_places(lines, folder))
        except UsageError:
            lines.close()
            raise

    @classmethod
    def create(cls, folder: Path, head: RunHead) -> Self:
        """Start a run, or go on with one that was made the same way.

        Raises:
            UsageError: the folder holds something else, or another process writes to it.
        """
        if is_run(folder):
            _refuse_another(folder, _read_head(folder), head)
        else:
            _start(folder, head)
        lines = _lines_of(folder, "a+b")
        try:
            fcntl.flock(lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lines.close()
            raise UsageError(f"{folder}: another process is writing to this run") from error
        _cut_torn_end(lines)
        return cls(folder, head, lines)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a run, also one that is being written.

        Raises:
            UsageError: there is none, or this version cannot read it.
        """
        if not is_run(folder):
            raise UsageError(f"{folder}: expected a stored run, a folder with {HEAD} in it")
        return cls(folder, _read_head(folder), _lines_of(folder, "rb"))

    @property
    def keys(self) -> Collection[str]:
        """Of all answers, in the order in which they were stored."""
        return self._places

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[StoredAnswer]:
        """Every answer, in the order in which they were stored."""
        for key in self.keys:
            yield self[key]

    def __getitem__(self, key: str) -> StoredAnswer:
        start, size = self._places[key]
        return StoredAnswer.model_validate_json(os.pread(self._lines.fileno(), size, start))

    def add(self, told: GradedAnswer) -> StoredAnswer:
        """Store an answer, its traces first.

        Raises:
            UsageError: the folder takes no more. What it holds stays as it was.
        """
        try:
            return self._add(told)
        except OSError as error:
            raise UsageError(f"{self.folder}: cannot be written: {reason(error)}") from error

    def _add(self, told: GradedAnswer) -> StoredAnswer:
        names = tuple(self._store(trace) for trace in told.traces)
        stored = told.stored.model_copy(update={"traces": names})
        line = stored.model_dump_json().encode() + b"\n"
        start = self._lines.seek(0, os.SEEK_END)
        try:
            _write_all(self._lines, line)
        except BaseException:  # Ctrl-C too: a half line would be the beginning of the next one
            self._lines.truncate(start)
            raise
        self._places[stored.key] = (start, len(line))
        return stored

    def traces(self, stored: StoredAnswer) -> tuple[Trace, ...]:
        """The traces of an answer, one for each alternative.

        Raises:
            UsageError: a file is missing or not as it was written.
        """
        return tuple(self._trace(name) for name in stored.traces)

    def close(self) -> None:
        """Let others write."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _store(self, trace: Trace) -> str:
        text = trace.model_dump_json().encode()
        name = hashlib.sha256(text).hexdigest()[:_NAME]
        path = self.folder / TRACES / f"{name}.json.gz"
        if not path.exists():
            write_whole(path, gzip.compress(text, compresslevel=1, mtime=0))
        return name

    def _trace(self, name: str) -> Trace:
        path = self.folder / TRACES / f"{name}.json.gz"
        if not name.isalnum():
            raise UsageError(f"{path}: no name of a trace: it may lead out of the run")
        try:
            return Trace.model_validate_json(_unpacked(path))
        except (OSError, EOFError, zlib.error, ValidationError) as error:
            raise UsageError(f"{path}: expected a stored trace: {reason(error)}") from error


def _unpacked(path: Path) -> bytes:
    with gzip.GzipFile(fileobj=BytesIO(read_bytes(path, _LONGEST))) as file:
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise OSError(errno.EFBIG, f"it unpacks to more than {_LONGEST >> 20} MiB", str(path))
    return data


def _start(folder: Path, head: RunHead) -> None:
    if folder.exists() and (not folder.is_dir() or any(_others(folder))):
        raise UsageError(f"{folder}: expected a stored run, or a folder that is new or empty")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / HEAD, head.model_dump_json(indent=2).encode() + b"\n", _DRAFT)
    except OSError as error:
        raise UsageError(f"{folder}: {reason(error)}") from error


def _others(folder: Path) -> Iterator[Path]:
    """What lies there, without what a kill left of the first file."""
    return (path for path in folder.iterdir() if not path.name.startswith(_DRAFT))


def _lines_of(folder: Path, mode: Literal["rb", "a+b"]) -> BinaryIO:
    path = folder / LINES
    kind = kind_of(path)
    if kind is not None:
        raise UsageError(f"{path}: it is {kind}, not a file")
    try:
        if mode == "a+b":
            (folder / TRACES).mkdir(exist_ok=True)
        if not path.exists():
            path.touch()
        return path.open(mode, buffering=0)
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from error


def _read_head(folder: Path) -> RunHead:
    path = folder / HEAD
    try:
        head = RunHead.model_validate_json(read_bytes(path))
    except (OSError, ValidationError) as error:
        raise UsageError(f"{path}: this version cannot read it: {reason(error)}") from error
    if head.schema_version != SCHEMA:
        raise UsageError(
            f"{path}: written in version {head.schema_version} of the format, expected {SCHEMA}"
        )
    return head


def _refuse_another(folder: Path, there: RunHead, wanted: RunHead) -> None:
    for name in RunHead.model_fields:
        old, new = getattr(there, name), getattr(wanted, name)
        if old != new and name != "trials":  # more trials are added to those that are there
            raise UsageError(
                f"{folder}: this run was made with {name} = {_told(old)}, not {_told(new)}; "
                "name another folder"
            )


def _told(value: object) -> str:
    return repr(value.model_dump() if isinstance(value, RunHead) else value)


def _write_all(file: BinaryIO, data: bytes) -> None:
    """A disk that fills up takes a part, and says that it is full the next time."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _cut_torn_end(lines: BinaryIO) -> None:
    """Take away a last line that a kill left without its end."""
    size = lines.seek(0, os.SEEK_END)
    end = size
    while end and os.pread(lines.fileno(), 1, end - 1) != b"\n":
        block = os.pread(lines.fileno(), min(end, 1 << 16), max(0, end - (1 << 16)))
        end -= len(block) - (block.rfind(b"\n") + 1)
    if end != size:
        lines.truncate(end)


def _places(lines: BinaryIO, folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Key of each line, with where it starts and how long it is; of a key told twice the last."""
    start = 0
    lines.seek(0)
    for number, line in enumerate(_whole_lines(lines), start=1):
        try:
            if len(line) > _LONGEST:
                raise UsageError(f"{folder / LINES}:{number}: longer than {_LONGEST >> 20} MiB")
            yield StoredAnswer.model_validate_json(line).key, (start, len(line))
        except ValidationError as error:
            place = f"{folder / LINES}:{number}"
            raise UsageError(f"{place}: expected a stored answer: {reason(error)}") from error
        start += len(line)


def _whole_lines(lines: BinaryIO) -> Iterator[bytes]:
    with os.fdopen(os.dup(lines.fileno()), "rb") as reader:
        while line := reader.readline(_LONGEST + 1):
            if line.endswith(b"\n") or len(line) > _LONGEST:
                yield line
