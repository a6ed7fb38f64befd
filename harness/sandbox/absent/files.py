"""Files that a program reads and that are not here: texts, tokens, settings; others are named."""

import ast
import builtins
import contextlib
import functools
import gzip
import importlib
import io
import json
import logging
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Self

import numpy as np
import torch

from harness.sandbox.absent import tables, texts
from harness.sandbox.absent.checkpoints import absent_state
from harness.sandbox.absent.lent import doubt, guess, lend
from harness.sandbox.absent.settings import AbsentSettings
from harness.sandbox.absent.standins.hub_datasets import Row
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.syntax import source_of

TEXTS = frozenset({".txt", ".text", ".md", ".tokens", ".tsv"})
"""Endings of files that are read as one text."""

TABLES = frozenset({".csv"})
"""Endings of tables that are read line by line."""

ROWS = frozenset({".jsonl", ".ndjson"})
"""Endings of files with an object on each line."""

SETTINGS = frozenset({".yaml", ".yml", ".json", ".toml"})
"""Endings of files of settings."""

ROW = "row by chance"
"""What stands on a line of those that are lent, with its number."""

TOKENS = 50
"""Tokens of a file that is not here are below this."""

COUNT = 20_000
"""How many there are."""

MOST = 200_000_000
"""Most bytes of a text that are made up."""

PROGRAM, NEAR = "<candidate>", 3
"""File name of the program's code, and how many calls away it may be."""

LINES_OF_JSON = re.compile(r"json\.loads\((line|l|row|ln|s|x)\b")
"""How a program reads an object from each line."""

_form: texts.Lines | None = None
_reads_whole = False
"""Whether it reads whole files of JSON as well, as settings are."""
_form_of_rows = ""
"""The ending of files of rows, as far as the program shows it by how it reads them."""


class AbsentFile(io.StringIO):
    """A file of settings that is not here."""

    def __init__(self, name: str) -> None:
        super().__init__("{}")
        self.name = name

    def read(self, size: int | None = -1) -> str:
        """A text that remembers where it is from."""
        return AbsentText(super().read(size), self.name)


class AbsentBytes(io.BytesIO):
    """A text that is not here, as bytes: as many as are asked for."""

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


def install(tree: ast.Module) -> None:
    """Lend files to the program, which opens them by :func:`opened`."""
    global _form, _form_of_rows, _reads_whole  # noqa: PLW0603 - one candidate runs in a process
    _form, source = texts.lines_of(tree), source_of(tree)
    table = ".csv" if re.search(r"csv\.(Dict)?[Rr]eader", source) else ""
    _form_of_rows = ".jsonl" if LINES_OF_JSON.search(source) else table
    _reads_whole = re.search(r"json\.load\(", source) is not None
    logs: Any = logging.FileHandler.__init__
    setattr(logging.FileHandler, "__init__", _logging(logs))  # noqa: B010 - mypy refuses to assign
    reading: Any = Path.open
    setattr(Path, "open", _opening(reading))  # noqa: B010 - mypy refuses to assign
    setattr(Path, "read_text", lambda self, *_, **__: self.open().read())  # noqa: B010 - as above
    os.makedirs, os.mkdir = _folders(os.makedirs), _folders(os.mkdir)
    torch.load = _restoring(torch.load)
    setattr(gzip, "open", _opening(gzip.open, packed=True))  # noqa: B010 - as above
    np.memmap = _tokens(np.memmap)  # type: ignore[misc]  # what it is here for
    json.load, json.loads = _settings(json.load), _settings(json.loads)
    for name, functions in (
        ("yaml", ("load", "safe_load", "full_load", "unsafe_load")),
        ("tomllib", ("load", "loads")),
    ):
        try:
            reader = importlib.import_module(name)
        except ImportError:
            continue
        for function in functions:
            setattr(reader, function, _settings(getattr(reader, function)))


def _opening(original: Callable[..., Any], *, packed: bool = False) -> Callable[..., Any]:
    """``packed``: whether it opens what gzip has packed, as bytes where nothing else is said."""

    @functools.wraps(original)
    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, int):
            return original(file, mode, *args, **kwargs)
        if {*mode} & {*"wax"}:
            return original(writable(file), mode, *args, **kwargs)
        try:
            return original(file, mode, *args, **kwargs)
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
    frame: FrameType | None = sys._getframe(2)
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return path.name
    return file if os.access(path.parent, os.W_OK) else path.name


def _folders(original: Callable[..., Any]) -> Callable[..., Any]:
    """Folders elsewhere: what is written into them is written here."""

    @functools.wraps(original)
    def make(name: Any, *args: Any, **kwargs: Any) -> Any:
        elsewhere = os.path.isabs(os.fspath(name))
        with contextlib.suppress(PermissionError, *[FileNotFoundError] * elsewhere):
            return original(name, *args, **kwargs)

    return make


def saving(original: Callable[..., Any]) -> Callable[..., Any]:
    """``torch.save`` into a folder that is not there, or that may not be written to."""

    @functools.wraps(original)
    def save(thing: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        return original(thing, writable(file), *args, **kwargs)

    return save


def _logging(original: Callable[..., Any]) -> Callable[..., Any]:
    """A log in a folder that is not there."""

    @functools.wraps(original)
    def begin(self: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, writable(file), *args, **kwargs)

    return begin


def _restoring(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load(file: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(file, str | os.PathLike) or os.path.exists(file):
            return original(file, *args, **kwargs)
        name = Path(os.fspath(file)).name
        return original(name, *args, **kwargs) if os.path.exists(name) else absent_state(name)

    return load


def _lent(path: Path, *, binary: bool) -> Any:
    path = path.with_suffix("") if path.suffix == ".gz" else path
    of_rows = path.suffix == ".json" and _form_of_rows == ".jsonl" and not _reads_whole
    if not path.suffix or of_rows:
        path = path.with_suffix(_form_of_rows)
    if path.suffix in SETTINGS:
        return AbsentFile(path.name)
    if path.suffix == ".py":  # more settings, which a program executes
        lend(f"{path.name}: nothing stands in it")
        return io.BytesIO() if binary else io.StringIO()
    if path.suffix in TEXTS or not path.suffix:
        guess(path.name, "a text by chance")
        return AbsentBytes(text().encode()) if binary else io.StringIO(text())
    if path.suffix in ROWS:
        guess(path.name, "rows by chance")
        rows = "".join(f'{{"{ROW}": {n}}}\n' for n in range(TRAIN))
        return io.BytesIO(rows.encode()) if binary else io.StringIO(rows)
    if path.suffix in TABLES:
        guess(path.name, "a table by chance")
        return io.BytesIO(tables.lines().encode()) if binary else io.StringIO(tables.lines())
    return None


def text() -> str:
    """In lines of parts, where the program splits its lines."""
    return texts.text(_form)


def _settings(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(source: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(source, AbsentFile | AbsentText):
            doubt(source.name)
            return AbsentSettings(source.name)
        found = original(source, *args, **kwargs)
        return Row(found[ROW]) if isinstance(found, dict) and [*found] == [ROW] else found

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
