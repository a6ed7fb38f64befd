"""Files that a program reads and that are not here: texts, tokens, settings; others are named."""

import builtins
import codecs
import contextlib
import dis
import errno
import functools
import gzip
import io
import json
import logging
import os
import pickle
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import numpy as np
import torch
import yaml

from harness.domain.misfits import reshaped
from harness.sandbox.absent import checkpoints, documents, present, tables, texts
from harness.sandbox.absent.by_place import stands_for
from harness.sandbox.absent.checkpoints import absent_state
from harness.sandbox.absent.lent import doubt, guess, is_hollow, lend
from harness.sandbox.absent.settings import FILE, AbsentSettings
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.sandbox.unbound import Unbound

TEXTS = frozenset({".txt", ".text", ".md", ".tokens", ".tsv"})
"""Endings of files that are read as one text."""

TABLES = frozenset({".csv"})
"""Endings of tables that are read line by line."""

ROWS = frozenset({".jsonl", ".ndjson", ".json"})
"""Endings of files with an object on each line, or as a whole."""

SETTINGS = frozenset({".yaml", ".yml", ".toml"})
"""Endings of files of settings."""

OF_SETTINGS = re.compile(r".*(conf|cfg|arg|param|setting|opt|hp|base|default).*", re.IGNORECASE)
"""Names of those that are written as JSON."""

ROW, OF = "row by chance", "of"
"""What stands on a line of those that are lent, with its number, and the name of the file."""

LENT, LINES, PARTS, WORDS, HELD, THERE = (
    "all files", "lines of ", "parts of ", "single words", "held by ", "there: ",
)  # fmt: skip
"""Under these names it is known that what is not here is lent whatever its name, of which files each
line is an object, which parts it has, that parts are single words, which files hold data instead of a
state, and after which of them a program asked and ended.
"""

UNFIT = (TypeError, ValueError, AttributeError, LookupError)
"""What is raised where a state that is not here is used as something else."""

LONGER, TIMES = "longer texts", 10
"""Under this name it is known that nothing came of texts of the usual length, and how much longer they
are then.
"""

BYTES, DIGITS, MANY = "bytes of ", 10, 1_000
"""Under this name it is known how many bytes a file has that is read as an array; below which number
they are; and from how many on numbers are all that are wanted, and not those of one sample.
"""

NO_ROOM, TORN = (errno.ENOSPC, errno.EFBIG), re.compile("inline_container|PytorchStreamWriter")
"""How a file that is too large is refused, and how torch says so."""

TOKENS = 50
"""Tokens of a file that is not here are below this."""

COUNT = 20_000
"""How many there are."""

MOST = 200_000_000
"""Most bytes of a text that are made up."""

PROGRAM, NEAR = "<candidate>", 3
"""File name of the program's code, and how many calls away it may be."""

_form: texts.Lines | None = None
_source = ""
_known: dict[str, str] = {}
_read: list[str] = []
"""Names of the texts that were lent."""
_asked: list[str] = []
"""Paths that the program asked after and that are not here."""


class AbsentFile(io.StringIO):
    """A file that is not here, of a text by chance."""

    def __init__(self, name: str, held: str) -> None:
        super().__init__(held)
        self.name = name

    def read(self, size: int | None = -1) -> str:
        """A text that remembers where it is from."""
        return AbsentText(super().read(size), self.name)


class AbsentBytes(io.BytesIO):
    """The same, as bytes: as many as are asked for."""

    def __init__(self, name: str, held: bytes) -> None:
        super().__init__(held)
        self.name = name

    def read(self, size: int | None = -1) -> bytes:
        """Over again from the beginning."""
        whole = len(self.getvalue())
        if size is None or not whole < size <= MOST:
            return super().read(size)
        return (self.getvalue() * (size // whole + 1))[:size]


class AbsentText(str):  # noqa: SLOT000 - one that remembers
    """What was read from one."""

    name: str

    def __new__(cls, text: str, name: str) -> Self:
        """``name``: of the file."""
        found = super().__new__(cls, text)
        found.name = name
        return found


def install(
    shown: ShownByProgram, as_read: Callable[[Any], Any] = lambda settings: settings
) -> None:
    """Lend files to the program, which opens them by :func:`opened`. ``as_read``: what becomes of
    settings that are here.
    """
    global _form, _source
    _form, _source = texts.lines_of(shown), shown.source
    _known.update(shown.known)
    logs: Any = logging.FileHandler.__init__
    setattr(logging.FileHandler, "__init__", saving(logs))  # noqa: B010 - mypy refuses to assign
    reading: Any = Path.open
    setattr(Path, "open", _opening(reading))  # noqa: B010 - mypy refuses to assign
    setattr(Path, "read_text", lambda self, *_, **__: self.open().read())  # noqa: B010 - as above
    os.makedirs, os.mkdir = _folders(os.makedirs), _folders(os.mkdir)
    torch.load, pickle.dump = _restoring(torch.load), saving(pickle.dump)
    setattr(gzip, "open", _opening(gzip.open, packed=True))  # noqa: B010 - as above
    setattr(io, "open", opened)  # noqa: B010 - as above
    setattr(codecs, "open", _opening(codecs.open))  # noqa: B010 - as above
    for where, name in (
        (os.path, "exists"), (os.path, "isfile"), (os.path, "isdir"),
        (Path, "exists"), (Path, "is_file"), (Path, "is_dir"),
    ):  # fmt: skip
        setattr(where, name, _asking(getattr(where, name)))
    np.memmap = _tokens(np.memmap)  # type: ignore[misc]  # what it is here for
    for reader, functions in (
        (json, ("load", "loads")),
        (pickle, ("load",)),
        (yaml, ("load", "safe_load", "full_load", "unsafe_load")),
        (tomllib, ("load", "loads")),
    ):
        for function in functions:
            setattr(reader, function, _parsing(getattr(reader, function), as_read))


def learned(error: BaseException) -> tuple[str, str] | None:
    """What a failure shows of files that are not here, under a name; ``None``: nothing new."""
    found = None
    if _asked and _is_the_programs_own(error):
        found = (f"{THERE}{_asked[-1]}", "asked for")
    elif isinstance(error, FileNotFoundError):
        found = (LENT, "lent")
    elif isinstance(error, json.JSONDecodeError) and _read:
        found = (f"{LINES}{_read[-1]}", "objects")
    elif _read and (form := texts.learned(error, _form_of(_read[-1]))):
        return f"{PARTS}{_read[-1]} {len(_known)}", json.dumps(asdict(form))
    elif _read and (asked := reshaped(str(error))):
        given, wanted = asked
        more = -given % max(1, wanted) if wanted < min(given, MANY) else wanted - given
        found = (f"{BYTES}{_read[-1]}", str(len(_held(Path(_read[-1]))[1]) + more))
    elif isinstance(error, KeyError) and _read and WORDS not in _known:
        found = (WORDS, "single")
    elif checkpoints.asked_for() and isinstance(error, (*UNFIT, Unbound)):
        found = (f"{HELD}{checkpoints.asked_for()[-1]}", "data")
    return None if found is None or found[0] in _known else found


def too_short() -> tuple[str, str] | None:
    """What an end without any update shows of texts that were lent; ``None``: nothing new."""
    return (LONGER, "asked for") if _read and LONGER not in _known else None


def _asking(original: Callable[..., bool]) -> Callable[..., bool]:
    """Whether a file or a folder is there: also one without which the program ended."""

    @functools.wraps(original)  # it looks at who calls it: nothing may stand between
    def ask(path: Any, *args: Any, **kwargs: Any) -> bool:
        if original(path, *args, **kwargs):
            return True
        asking = sys._getframe(1).f_code.co_filename.startswith(PROGRAM)
        if not asking or not isinstance(path, str | os.PathLike):
            return False
        _asked.append(os.fspath(path))
        return f"{THERE}{_asked[-1]}" in _known

    return ask


def _is_the_programs_own(error: BaseException) -> bool:
    """Whether a line of the program raised it on purpose."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and not _is_exit(trace.tb_next):
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(PROGRAM):
        return False
    raised = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
    return raised or isinstance(error, SystemExit)


def _is_exit(trace: TracebackType) -> bool:
    """Whether it is ``exit()``, which the program called."""
    return trace.tb_frame.f_globals.get("__name__") == "_sitebuiltins"


def _opening(original: Callable[..., Any], *, packed: bool = False) -> Callable[..., Any]:
    """``packed``: whether it opens what gzip has packed, as bytes where nothing else is said."""

    @stands_for(original)
    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if not isinstance(file, str | os.PathLike):  # a number, or a file that is open
            return original(file, mode, *args, **kwargs)
        if {*mode} & {*"wax"}:
            return original(writable(file), mode, *args, **kwargs)
        try:
            if not is_hollow(file):
                return original(file, mode, *args, **kwargs)
            found = _lent(Path(os.fspath(file)), binary="b" in mode, whatever=True)
        except (FileNotFoundError, PermissionError):
            if not asked_by_the_program():  # a library that looks for files of its own
                raise
            found = _lent(Path(os.fspath(file)), binary="b" in mode or (packed and "t" not in mode))
            if found is None:
                raise FileNotFoundError(2, "No such file", os.fspath(file)) from None
        return found

    return opened


opened = _opening(builtins.open)
"""Stands for ``open``."""


def asked_by_the_program() -> bool:
    """Whether the program is what opened a file, be it by a method of its path."""
    frame: FrameType | None = sys._getframe(3)  # behind the call that stands for another
    near: list[str] = []
    while frame is not None and len(near) < NEAR:
        near.append(frame.f_code.co_filename)
        frame = frame.f_back
    return any(name.startswith(PROGRAM) for name in near)


def writable(file: Any) -> Any:
    """A path that may be written to: where a program writes, there is a folder; the same name inside of
    ours for one that lies elsewhere.
    """
    if not isinstance(file, str | os.PathLike):
        return file
    path = Path(os.fspath(file))
    if path.is_symlink():  # a file of its own, which nobody writes
        path.unlink()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return path.name
    return file if os.access(path.parent, os.W_OK) else path.name


def _folders(original: Callable[..., Any]) -> Callable[..., Any]:
    """Folders elsewhere: what is written into them is written here. Those around one are there."""

    @stands_for(original)
    def make(name: Any, *args: Any, **kwargs: Any) -> Any:
        elsewhere = os.path.isabs(os.fspath(name))
        around = os.path.dirname(os.fspath(name).rstrip("/"))
        if around and not elsewhere:
            os.makedirs(around, exist_ok=True)
        with contextlib.suppress(PermissionError, *[FileNotFoundError] * elsewhere):
            return original(name, *args, **kwargs)

    return make


def saving(original: Callable[..., Any]) -> Callable[..., Any]:
    """``torch.save``, or a log, into a folder that is not there, or that may not be written to. What
    there is no room for is not written.
    """

    @stands_for(original)
    def save(thing: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        path = writable(file)
        try:
            return original(thing, path, *args, **kwargs)
        except (OSError, RuntimeError) as error:
            torn = getattr(error, "errno", None) in NO_ROOM or TORN.search(str(error))
            name = getattr(path, "name", path)
            if not torn or not isinstance(name, str | os.PathLike):
                raise
            lend(f"{name}: too large to be written")
            Path(os.fspath(name)).unlink(missing_ok=True)
            return None

    return save


def _restoring(original: Callable[..., Any]) -> Callable[..., Any]:
    @stands_for(original)
    def load(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, AbsentBytes):
            file = file.name
        if not isinstance(file, str | os.PathLike) or os.path.exists(file):
            return original(file, *args, **kwargs)
        if (state := present.state_at(file)) is not None:
            return original(state, *args, **kwargs)
        name = Path(os.fspath(file)).name
        if f"{HELD}{name}" in _known:
            return documents.document(name, "tensors")
        return original(name, *args, **kwargs) if os.path.exists(name) else absent_state(name)

    return load


def _lent(path: Path, *, binary: bool, whatever: bool = False) -> Any:
    """Something to read. ``whatever``: also where its name tells nothing."""
    path = path.with_suffix("") if path.suffix == ".gz" else path
    if path.suffix == ".py":  # more settings, which a program executes
        lend(f"{path.name}: nothing stands in it")
        return io.BytesIO() if binary else io.StringIO()
    what, held = _held(path)
    if what is None and LENT not in _known and not whatever:
        return None
    if what != "":
        guess(path.name, what or "a text by chance")
    if what != "" and path.suffix not in ROWS:
        _read.append(path.name)
    if not binary:
        return AbsentFile(path.name, held)
    many = int(_known.get(f"{BYTES}{path.name}", 0))
    numbers = np.random.default_rng(0).integers(0, DIGITS, many, np.uint8).tobytes()
    return AbsentBytes(path.name, numbers if many < MOST and many else held.encode())


def _held(path: Path) -> tuple[str | None, str]:
    """What is lent, in words, and itself; empty words where its reader says it, none where only the
    program's end tells to lend it.
    """
    name, ending = path.name, path.suffix
    if ending in ROWS or f"{LINES}{name}" in _known:
        rows = (json.dumps({ROW: n, OF: name}) for n in range(TRAIN))
        return "" if ending == ".json" else "rows by chance", "".join(f"{row}\n" for row in rows)
    if ending in SETTINGS:
        return "", ""
    table = re.search(r"csv\.(Dict)?[Rr]eader", _source) and ending in ("", ".tsv")
    if ending in TABLES or table:
        return "a table by chance", tables.lines()
    if texts.VECTORS.search(name):
        return "vectors of words by chance", texts.vectors(name)
    found = texts.text(_form_of(name)) * (TIMES if LONGER in _known else 1)
    return "a text by chance" if ending in (*TEXTS, "") else None, found


def text() -> str:
    """In lines of parts, where the program splits its lines."""
    return texts.text(_form)


def _form_of(name: str) -> texts.Lines | None:
    """What the lines of a text are made of, by the program or by what first runs showed."""
    shown = [value for key, value in _known.items() if key.startswith(f"{PARTS}{name} ")]
    found = texts.Lines(**json.loads(shown[-1])) if shown else _form
    return replace(found, words=True) if found is not None and WORDS in _known else found


def _parsing(original: Callable[..., Any], as_read: Callable[[Any], Any]) -> Callable[..., Any]:
    """A reader of settings or data, which makes what a file holds that is not here."""

    @stands_for(original)
    def read(source: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(source, AbsentFile | AbsentBytes | AbsentText):
            path = Path(source.name)
            if path.suffix in SETTINGS or (path.suffix == ".json" and OF_SETTINGS.match(path.stem)):
                doubt(source.name)
                return AbsentSettings(source.name)
            return documents.document(source.name, "json")
        found = original(source, *args, **kwargs)
        lent = isinstance(found, dict) and [*found] == [ROW, OF]
        if lent:
            return documents.row(found[OF], found[ROW])
        name = Path(str(getattr(source, "name", f"it{FILE}")))
        settings = name.suffix in SETTINGS or OF_SETTINGS.match(name.stem)
        return as_read(found) if settings and original is not pickle.load else found

    return read


def _tokens(original: Any) -> Any:
    """``np.memmap`` of a file of tokens."""

    def mapped(file: Any, dtype: Any = np.uint8, *args: Any, **kwargs: Any) -> Any:
        known = not isinstance(file, str | os.PathLike) or os.path.exists(file)
        mode = args[0] if args else kwargs.get("mode", "r")
        if known or mode in ("w+", "write") or np.dtype(dtype).kind not in "ui":
            return original(file, dtype, *args, **kwargs)
        return _by_chance(Path(os.fspath(file)).name, dtype)

    return mapped


def _by_chance(name: str, dtype: Any) -> Any:
    lend(f"{name}: {COUNT} tokens by chance")
    seed = sum(name.encode())
    return np.random.default_rng(seed).integers(0, TOKENS, COUNT).astype(dtype)
