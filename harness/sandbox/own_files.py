"""Files that lie beside a program and that it names: they are read as they are, and never written."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path, PurePosixPath

from harness.beside import unpacked, whole
from harness.sandbox.order import OwnFile
from harness.syntax import walk

ABOVE = 3
"""How many folders above a program may belong to its repository."""

REPOSITORY = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
"""What lies in the uppermost folder of one."""

SETTINGS = frozenset({".yaml", ".yml", ".json", ".toml", ".cfg", ".ini"})
"""Endings of files that name further ones."""

OF_SETTINGS = ("config", "configs", "conf", "cfgs")
"""Folders of them, which go along unnamed: some command line chooses one."""

SHORT = 1 << 16
"""Bytes of such a file, at most."""

MOST = 200
"""So many entries of its folders go along; a folder is one."""

LONGEST = 200
"""Characters of a path in a program."""

FEW = 20
"""A folder with as many entries is not kept for its name alone."""

WORD = re.compile(r"[\w./*-]{2,200}")
"""What could be a path in a file of settings."""


def own_files(program: str, folder: Path, data: Sequence[Path] = ()) -> tuple[OwnFile, ...]:
    """Entries of the program's folder, and of those above it in its repository, that its texts, its
    command line or its settings name. Those of the uppermost folder stand beside the program as
    well: many are run from there.

    Hidden ones and Python files are left out, and so is what a link leads to outside, unless that is
    one of the folders of ``data``.
    """
    packed = unpacked(program)
    words = {*packed.arguments, *_texts(program), *OF_SETTINGS}
    bases = _bases(folder)
    found: dict[str, Path] = {}
    settings: set[Path] = set()
    while len(found) < MOST:
        named = _named(words, bases, data)
        new = [path for path in named.values() if path not in settings]
        found |= named
        settings |= {*new}
        more = {word for path in new for word in _words_in(path)}
        if more <= words:
            break
        words |= more
    found |= _code_named(packed.arguments, bases)
    return tuple(OwnFile(name=n, path=str(p)) for n, p in [*found.items()][:MOST])


def _code_named(arguments: Iterable[str], bases: list[Path]) -> dict[str, Path]:
    """Settings that are written in Python, which a command line names: ``--config configs/base.py``."""
    files = [word.rpartition("=")[2] for word in arguments if word.endswith(".py")]
    return {
        name: base / name
        for name in files
        if _first(name)
        for base in bases
        if ".." not in Path(name).parts and (base / name).is_file()
    }


def _bases(folder: Path) -> list[Path]:
    """The program's folder, and those above it up to the uppermost of its repository."""
    folder = folder.resolve()
    chain = [folder, *folder.parents[:ABOVE]]
    tops = (n for n, near in enumerate(chain) if any((near / name).exists() for name in REPOSITORY))
    return chain[: next(tops, 0) + 1]


def _texts(program: str) -> Iterator[str]:
    try:
        tree = whole(program)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _named(words: Iterable[str], bases: list[Path], data: Sequence[Path]) -> dict[str, Path]:
    """By the place where the program finds it: each entry that some word begins with."""
    firsts = {first for word in words if (first := _first(word))}
    plain = {first for first in firsts if not _is_pattern(first)}
    patterns = [_pattern(first) for first in firsts - plain]
    found: dict[str, Path] = {}
    for height, base in enumerate(bases):
        entries = {first: base / first for first in plain if (base / first).exists()}
        for entry in base.iterdir() if patterns else ():
            if any(fnmatchcase(entry.name, pattern) for pattern in patterns):
                entries[entry.name] = entry
        for name, entry in sorted(entries.items()):
            if not entry.exists() or _is_kept_empty(entry):  # a link that leads nowhere, or round
                continue
            inside = any(map(entry.resolve().is_relative_to, (bases[-1], *data)))
            if inside and entry.suffix != ".py" and not name.startswith("."):
                found.setdefault("../" * height + name, entry)
                if base == bases[-1]:
                    found.setdefault(name, entry)
    return found


def _is_kept_empty(entry: Path) -> bool:
    """Whether a folder holds nothing but what keeps it in a repository: ``.gitkeep``."""
    inside = islice(entry.rglob("*"), FEW) if entry.is_dir() else ()
    names = [one.name for one in inside if not one.is_dir()]
    return 0 < len(names) < FEW and all(name.startswith(".") for name in names)


def _first(word: str) -> str:
    """The first name in a path; empty for what is none, or leads elsewhere."""
    if not 0 < len(word) <= LONGEST or word[0] in "/~" or "\n" in word or "\0" in word:
        return ""
    parts = [
        part for part in PurePosixPath(word.removeprefix("=")).parts if part not in (".", "..")
    ]
    return parts[0] if parts else ""


def _is_pattern(first: str) -> bool:
    return "*" in first or (first.startswith(".") and first[1:].isalnum())


def _pattern(first: str) -> str:
    return first if "*" in first else f"*{first}"


def _words_in(path: Path) -> Iterator[str]:
    """What a file of settings says, or those in a folder of them."""
    files = [path] if path.is_file() else sorted(path.iterdir())[:MOST] if path.is_dir() else []
    for file in files:
        if file.suffix in SETTINGS and file.is_file() and file.stat().st_size <= SHORT:
            yield from WORD.findall(file.read_text("utf-8", "replace"))
