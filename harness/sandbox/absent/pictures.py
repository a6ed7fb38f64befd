"""Pictures that are not here: files of them are written when a program looks into their folder."""

import contextlib
import glob
import importlib
import os
import re
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from harness.domain.misfits import CLASSES, NARROW, NOTHING, SMALL, TOO_SHORT, side_asked_for
from harness.sandbox.absent.by_place import stands_for
from harness.sandbox.absent.files import asked_by_the_program
from harness.sandbox.absent.lent import doubt, guess, guessed, hollow, lend
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.absent.standins.torchvision import TRAIN

ENDINGS = (".jpg", ".png", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm")
EMPTY = (".npy", ".npz", ".wav")
"""Files of which only the names are written: what is read of them is lent."""

ENDS = re.compile(r"endswith\(\(?['\"](\.\w+)")
"""How it picks files out of a folder."""

READS = re.compile(r"\bImage\.open\(|\b(read_image|imread|imdecode)\(")
"""How a program reads a picture."""

IN_FOLDERS = re.compile(r"\.is_dir\(\)|isdir\((os\.path\.)?join\(")
"""How it asks which entries of a folder are folders."""

OF_A_CLASS = re.compile(r"(class)?\d+")
"""Folders that were lent."""

INSIDE, NUMBERED, GRAY = "folders inside", "numbered folders", "gray pictures"
"""Under these names it is known that a program looks into what it finds in a folder, that it takes what
it finds for numbers, and that its pictures have one channel.
"""

MASK = re.compile(r".*(mask|label|seg|annot|gt|ground).*", re.IGNORECASE)
WRITTEN = re.compile(
    r".*(ckpt|checkpoint|run|log|out|result|sav|weight|model|sample).*", re.IGNORECASE
)
"""Names of pictures of classes, and of folders that a program writes into."""

SIZE, FOLDERS, DIFFERENT, SHARDS = 64, 40, 16, 4
"""Pixels of a side; how many folders there are; how many pictures differ; into how many files anything
else is cut.
"""

EMPTIED = (NotADirectoryError, IndexError)
"""What is raised where a file is no folder, and where nothing was found in it."""

LENT = "lent"
"""Where folders and files lie that a program looks for elsewhere."""


_source = ""
_known: dict[str, str] = {}
FOLDERS_IN_FULL, FEWER = 3, 96
"""How many folders hold as many files as a data set, and how many the others: there is room for some
16,000.
"""

_made: set[Path] = set()
_drawn: list[Path] = []
"""Pictures that were drawn."""

_sought: list[str] = []
"""What a program looked for inside of files that were lent."""


def install(shown: ShownByProgram) -> None:
    """Patch what looks into folders and what reads pictures."""
    global _source  # noqa: PLW0603 - one candidate runs in a process
    _source = shown.source
    _known.update(shown.known)
    for name in ("listdir", "walk"):
        setattr(os, name, _listing(getattr(os, name)))
    setattr(Path, "iterdir", _listing(Path.iterdir))  # noqa: B010 - mypy refuses to assign
    for name in ("glob", "iglob"):
        setattr(glob, name, _matching(getattr(glob, name)))
    setattr(Path, "glob", _matching_under(Path.glob))  # noqa: B010 - as above
    setattr(Path, "rglob", lambda self, pattern: self.glob(f"**/{pattern}"))  # noqa: B010 - as above
    if READS.search(_source) is None:
        return
    with contextlib.suppress(ImportError):
        pillow: Any = importlib.import_module("PIL.Image")
        pillow.open = _reading(pillow.open)


def learned(error: BaseException) -> tuple[str, str] | None:
    """What a failure shows about pictures that were lent, under a name; ``None``: nothing new."""
    said, found = str(error), None
    if larger := re.search(r"crop size \((\d+), \d+\) is larger", said):
        found = ("pixels", larger[1])
    elif any(words.search(said) for words in (TOO_SHORT, NARROW, SMALL)):
        found = ("pixels", "256")
    elif _drawn and (side := side_asked_for(said, SIZE)):
        found = ("pixels", str(side))
    elif CLASSES.search(said):
        found = ("folders", "2")
    elif _sought and (NOTHING.search(said) or isinstance(error, EMPTIED)):
        found = (INSIDE, _sought[0])
    elif INSIDE in _known and "int() with base 10: 'class" in said:
        found = (NUMBERED, "asked for")
    elif "to have 1 channels, but got 3" in said:
        found = (GRAY, "asked for")
    return found if guessed() and found is not None and found[0] not in _known else None


def _listing(original: Callable[..., Any]) -> Callable[..., Any]:
    @stands_for(original)
    def listed(folder: Any = ".", *args: Any, **kwargs: Any) -> Any:
        if isinstance(folder, str | os.PathLike) and asked_by_the_program():
            folder = type(folder)(_furnished(Path(os.fspath(folder)), ("*",)))  # type: ignore[call-arg]  # a path
        return original(folder, *args, **kwargs)

    return listed


def _matching(original: Callable[..., Any]) -> Callable[..., Any]:
    @stands_for(original)
    def matched(pattern: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(pattern, str) and asked_by_the_program():
            root, rest = _parts(pattern)
            pattern = os.path.join(_furnished(root, rest), *rest)
        return original(pattern, *args, **kwargs)

    return matched


def _matching_under(original: Callable[..., Any]) -> Callable[..., Any]:
    @stands_for(original)
    def matched(folder: Path, pattern: Any, *args: Any, **kwargs: Any) -> Any:
        if not asked_by_the_program():
            return original(folder, pattern, *args, **kwargs)
        root, rest = _parts(os.path.join(folder, pattern))
        return original(_furnished(root, rest), "/".join(rest), *args, **kwargs)

    return matched


def _parts(pattern: str) -> tuple[Path, tuple[str, ...]]:
    """The folder that a pattern begins with, and the rest; at least its last part."""
    parts = Path(pattern).parts
    first = next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return Path(*parts[:first]), parts[first:]


def _furnished(folder: Path, pattern: tuple[str, ...]) -> Path:
    """Where to look for what lies in a folder. ``pattern``: parts of paths beneath it."""
    endings = (*_mentioned(ENDINGS), *ENDINGS)
    last = pattern[-1] if pattern else ""
    elsewhere = (
        folder if folder in _made or not folder.is_absolute() else Path(LENT, *folder.parts[1:])
    )
    if elsewhere in _made and last.endswith(".*") and not glob.has_magic(last[:-2]):
        _write(elsewhere, [last[:-2]], endings[0])  # a mask, by the name of its picture
    if elsewhere in _made or folder.exists():
        _sought.extend([last] * (folder.parent in _made and folder.is_file()))
        return elsewhere if elsewhere in _made else folder
    deeper = INSIDE in _known and pattern == ("*",) and not OF_A_CLASS.fullmatch(folder.name)
    return _lent_folder(folder, elsewhere, ("*", _known[INSIDE]) if deeper else pattern)


def _lent_folder(folder: Path, elsewhere: Path, pattern: tuple[str, ...]) -> Path:
    """``elsewhere``, where files are written; the folder itself where nothing is known of them."""
    last = pattern[-1] if pattern else ""
    ending, names = _names_for(last, (*_mentioned(ENDINGS), *ENDINGS))
    readable = READS.search(_source) is not None and "PIL.Image" in sys.modules
    if last == "*" and not readable:  # which files it looks for in there is said elsewhere
        ends = ENDS.search(_source)
        ending = ends[1] if ends is not None else next(iter(_mentioned(EMPTY)), ending)
    is_data = ending not in ENDINGS
    names = names[: _most(folder, holds=is_data and ending not in EMPTY)]
    if ending is None or not (readable or is_data) or WRITTEN.fullmatch(f"{folder.name}/{last}"):
        doubt(folder.name)
        if WRITTEN.fullmatch(f"{folder.name}/{last}") and not folder.is_absolute():
            folder.mkdir(parents=True, exist_ok=True)  # who writes into it has made it
        return folder
    folders = _has_folders(folder, last, is_data=is_data)
    if folders or (len(pattern) > 1 and pattern[0] != "**"):
        count = int(_known.get("folders", FOLDERS))
        kind = "" if NUMBERED in _known else "class"
        for n in range(count):
            _write(elsewhere / f"{kind}{n}", names[: TRAIN // count + 1], ending)
    else:
        _write(elsewhere, names, ending)
    _made.add(elsewhere)
    guess(folder.name, "files by chance" if is_data else "pictures by chance")
    return elsewhere


def _most(folder: Path, *, holds: bool) -> int:
    """How many files a folder has at most. ``holds``: whether each holds many samples."""
    if len(_made) > FOLDERS_IN_FULL:
        return FEWER
    return SHARDS if holds else TRAIN // FOLDERS + 1 if OF_A_CLASS.fullmatch(folder.name) else TRAIN


def _has_folders(folder: Path, last: str, *, is_data: bool) -> bool:
    """Whether a program looks for folders in there; in those that were lent there are none."""
    of_a_class = OF_A_CLASS.fullmatch(folder.name) is not None
    return bool(IN_FOLDERS.search(_source)) and (not is_data or last == "*") and not of_a_class


def _names_for(last: str, endings: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """The ending of files that a pattern finds, and their names without it."""
    stem, named = os.path.splitext(last)
    names = [f"class{n % 2}_{n}" for n in range(TRAIN)]
    if named == ".*" and not glob.has_magic(stem):
        return endings[0], [stem]
    ending = next((e for e in (*endings, *EMPTY) if fnmatch(f"x{e}", last)), None)
    if ending is None and named and not glob.has_magic(named) and "*" in stem:
        ending = named
    if ending is not None and stem.count("*") == 1 and not glob.has_magic(stem.replace("*", "")):
        names = [stem.replace("*", name) for name in names]
    return ending, names


def _mentioned(endings: tuple[str, ...]) -> tuple[str, ...]:
    """The first of these endings that the program speaks of."""
    found = re.search(rf"\.({'|'.join(e[1:] for e in endings)})\b", _source)
    return (found[0],) if found else ()


def _write(folder: Path, names: list[str], ending: str) -> None:
    """Few pictures under many names, or names alone."""
    folder.mkdir(parents=True, exist_ok=True)
    _made.add(folder)
    for n, name in enumerate(names):
        path = folder / f"{name}{ending}"
        if ending not in ENDINGS:
            path.write_bytes(b"")  # the jail makes nothing of touch()
            hollow(path)
        elif n < DIFFERENT:
            _draw(path, n)
        else:
            os.link(folder / f"{names[n % DIFFERENT]}{ending}", path)


def _draw(path: Path, number: int) -> None:
    _drawn.append(path)
    size = int(_known.get("pixels", SIZE))
    dice = np.random.default_rng(number)
    if MASK.fullmatch(str(path)):
        pixels = dice.integers(0, 2, (size, size), dtype=np.uint8)
    else:
        shape = (size, size) if GRAY in _known else (size, size, 3)
        pixels = dice.integers(0, 256, shape, dtype=np.uint8)
    sys.modules["PIL.Image"].fromarray(pixels).save(path, format="png")


def _reading(original: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of pictures that lends what is not here."""

    @stands_for(original)
    def read(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, str | os.PathLike) and not os.path.exists(file):
            path = Path(os.fspath(file))
            file = Path(LENT, path.parent.name, path.name)  # masks lie in a folder of that name
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                _draw(file, sum(path.name.encode()))
            lend("a picture by chance for each that is not here")
        return original(str(file) if isinstance(file, Path) else file, *args, **kwargs)

    return read
