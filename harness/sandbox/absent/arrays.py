"""Arrays that are not here: their names, what a program does with them, and what its runs refuse tell
their form.
"""

import ast
import functools
import os
import re
from collections.abc import Callable
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from harness.domain.misfits import MISMATCH, TOO_SHORT, side_asked_for, width_asked_for
from harness.sandbox.absent import tables
from harness.sandbox.absent.by_place import stands_for
from harness.sandbox.absent.columns import classes
from harness.sandbox.absent.lent import guess, is_whole
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.sandbox.batches.callers import frame_of_the_program
from harness.syntax import walk

Array = np.ndarray[Any, Any]

LABELS = re.compile(r"(.*_)?(y|labels?|targets?|classes|cls)(_.*)?")
TOKENS = re.compile(r".*(tokens?|corpus|ids|shard).*")
PICTURES = re.compile(r"(.*_)?(images?|imgs?|pictures?|photos?|frames)(_.*)?")
MASKS = re.compile(r"(.*_)?(masks?|seg\w*|annotations?)(_.*)?")
"""Names of arrays, in lower case."""

MANY, BELOW = 400_000, 50
"""How many tokens an array of them has, and what they are below."""

SIDE, LARGE = 32, 128
"""Pixels of a side, and where that is too small."""

FEW = 64
"""How many samples differ where each has a file."""

SAID = r"(?:{0}\b|{1}\*)[^()\[\]\n]{{0,60}}[(\[](?P<shape>[A-Z]\b(?:\s*[,x]\s*(?:[A-Z]|\d+)\b)*)"
"""How people write down a shape behind a name: ``images.npy (N, H, W, 3 uint8)``, ``X [N, L]``."""

STRETCHED = 4096
"""How long rows in time are where windows are longer than usual."""

LONG = {"N": TRAIN, "H": SIDE, "W": SIDE, "C": 3, "T": 64, "L": 64, "S": 64}
"""How long a side is that is written as a letter; any other is as wide as rows of numbers."""

LENT = re.compile(r"class\d+_\d+|\d+")
"""How files are called that were lent: their folder tells what they hold."""

FORMS = ("rows", "gray", "first", "last", "series", "line")
"""What one sample may be: numbers, pictures without channels, with channels before or behind, rows of
numbers in time, one number of a single series.
"""

TRIED = "form"
"""What begins the names of forms that were tried."""

_source = ""
_known: dict[str, str] = {}
_texts = ""
_lent: list[str] = []


def install(shown: ShownByProgram) -> None:
    """Lend arrays to numpy."""
    global _source, _texts  # noqa: PLW0603 - one candidate runs in a process
    _source = shown.source
    constants = (node.value for node in walk(shown.tree) if isinstance(node, ast.Constant))
    _texts = "\n".join(text for text in constants if isinstance(text, str))
    _known.update(shown.known)
    np.load = _loading(np.load)


def learned(error: BaseException) -> tuple[str, str] | None:
    """What a failure shows about an array that was lent, under a name; ``None``: nothing new."""
    refused = isinstance(error, RuntimeError | ValueError | IndexError | AssertionError)
    if not _lent or not refused or not tables.of_the_data(error):
        return None
    if (
        TOO_SHORT.search(str(error)) or "num_samples=0" in str(error)
    ) and "stretched" not in _known:
        return "stretched", "asked for"
    if "have one of the following scalar types: Long, Int" in str(error) and "ids" not in _known:
        return "ids", "asked for"
    asked = width_asked_for(str(error))
    if (
        asked is not None
        and "channels" in str(error)
        and "channels" not in _known
        and _said(_lent[0])
    ):
        return "channels", str(asked[1])
    side = side_asked_for(str(error), SIDE) if _form() != "rows" else None
    side = side or _of_patches(str(error))
    if side is not None and "side" not in _known:
        return "side", str(side)
    tried = sum(name.startswith(TRIED) for name in _known)
    return (f"{TRIED} {tried + 1}", "refused") if tried < len(FORMS) - 1 else None


def _of_patches(said: str) -> int | None:
    """The side of pictures of as many square patches as a model has places for, one more for a class."""
    found = MISMATCH.search(said)
    if found is None:
        return None
    for extra in (1, 0):
        given, wanted = (isqrt(int(n) - extra) for n in found.groups())
        exact = given and found[1] == str(given**2 + extra) and found[2] == str(wanted**2 + extra)
        if exact and given != wanted and SIDE * wanted % given == 0:
            return SIDE * wanted // given
    return None


def _form(*, alone: bool = False) -> str:
    """What is tried now: pictures first where a program folds them, long rows where it cuts windows."""
    order = [*FORMS]
    if "ids" in _known:
        return "rows"
    if "stretched" in _known and "pixels" not in _known:
        return "series"
    if alone:
        order = ["series", *FORMS[:-2], "line"]
    if re.search(r"\bConv(Transpose)?[23]d\(", _source):
        order = ["gray", "first", "last", "rows", "series", "line"]
    if any(map(PICTURES.fullmatch, _lent)):
        order = ["last", "gray", "first", "rows", "series", "line"]
    return order[sum(name.startswith(TRIED) for name in _known) % len(order)]


def is_archive(file: str) -> bool:
    """Whether a file holds several arrays: by its ending, or by how what is read of it is taken."""
    if Path(file).suffix in (".npy", ".npz"):
        return file.endswith(".npz")
    read = re.findall(r"(\w+) = (?:np|numpy)\.load\(", _source)
    read += re.findall(r"(?:np|numpy)\.load\([^\n]*?\) as (\w+)", _source)
    taken = (rf"\b{name}(\[['\"]|\.files\b)" for name in read)
    return any(re.search(one, _source) for one in taken)


def _loading(original: Callable[..., Any]) -> Callable[..., Any]:
    """``numpy.load``, which lends what is not here."""

    @stands_for(original)
    def load(file: Any, mmap_mode: str | None = None, *args: Any, **kwargs: Any) -> Any:
        lends = isinstance(file, str | os.PathLike) and not is_whole(file)
        path = Path(os.fspath(file)) if lends else None
        if path is None:
            return original(file, mmap_mode, *args, **kwargs)
        guess(path.name, "an array by chance")
        name = path.parent.name if LENT.fullmatch(path.stem) else path.stem
        return by_name(name, mapped=mmap_mode is not None, alone=is_a_sample())

    return load


def is_a_sample() -> bool:
    """Whether a data set reads a file for each of its samples."""
    frame = frame_of_the_program()
    return frame is not None and frame.f_code.co_name == "__getitem__"


def by_name(name: str, *, mapped: bool = False, alone: bool = False, row: int = 0) -> Any:
    """An array by its name. ``alone``: whether it is one sample, and ``row`` which."""
    shape = _said(name)
    if shape is not None:
        _lent.append(name)
        whole = LABELS.fullmatch(name.lower()) or MASKS.fullmatch(name.lower())
        return _filled(shape, 2 if whole else 256 if "uint8" in _around(name) else None)
    found = _samples(name.lower(), mapped=mapped, alone=alone)
    return found[row % len(found)] if alone else found


def _said(name: str) -> tuple[int, ...] | None:
    """The shape that the program's own texts tell of it, or of another part of the same data."""
    alike = (name, *(re.sub(r"train|test|valid|val|dev", part, name) for part in ("train", "val")))
    tried = ((re.escape(one), re.escape(one.rstrip("0123456789"))) for one in alike)
    found = next((m for one in tried if (m := re.search(SAID.format(*one), _texts))), None)
    if found is None:
        return None
    sides = re.findall(r"\b(?:[A-Z]|\d+)\b", found["shape"])
    channels = int(_known.get("channels", LONG["C"]))
    known = {**LONG, "C": channels, **dict.fromkeys("HW", int(_known.get("side", SIDE)))}
    if "stretched" in _known:
        known |= dict.fromkeys("TLS", STRETCHED)
    return tuple(int(s) if s.isdigit() else known.get(s, tables.width()) for s in sides)


def _around(name: str) -> str:
    """What stands on the line on which a text tells of it."""
    found = re.search(rf"^.*{re.escape(name)}\b.*$", _texts, re.MULTILINE)
    return found[0] if found is not None else ""


def _filled(shape: tuple[int, ...], below: int | None) -> Array:
    """Whole numbers below a number, or any."""
    dice = np.random.default_rng(0)
    if below is None:
        return dice.standard_normal(shape).astype(np.float32)
    return dice.integers(0, below, shape, np.uint8)


@functools.cache
def _samples(name: str, *, mapped: bool, alone: bool) -> Array:
    """Many of the form that is tried, where the name tells nothing."""
    dice = np.random.default_rng(0)
    if LABELS.fullmatch(name):
        return classes(2)
    whole = re.search(r"int64|\.long\(\)|torch\.long", _source) is not None
    if whole and (TOKENS.fullmatch(name) or (mapped and not PICTURES.fullmatch(name))):
        return dice.integers(0, BELOW, MANY)
    _lent.append(name)
    form, side = _form(alone=alone), int(_known.get("side", LARGE if "pixels" in _known else SIDE))
    count = FEW if alone and form != "rows" else TRAIN
    if MASKS.fullmatch(name):
        return _filled((count, side, side), 2)
    if form == "rows":
        rows = _filled((TRAIN, tables.width()), BELOW if "ids" in _known else None)
        return rows.astype(np.int64) if "ids" in _known else rows
    if form in ("series", "line"):
        return _series(count) if form == "series" else _filled((STRETCHED,), None)
    shape = {"first": (3, side, side), "last": (side, side, 3)}.get(form, (side, side))
    return _filled((count, *shape), 256)


def _series(count: int) -> Array:
    """So many samples of rows in time, or of time in rows."""
    if "stretched" in _known:
        return _filled((FEW, tables.width(), STRETCHED), None)
    long = (tables.width(), LARGE) if "pixels" in _known else (LARGE, tables.width())
    return _filled((count, *long), None)
