"""Arrays that are not here: their names, what a program does with them, and what its runs refuse tell
their form.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from math import isqrt
from pathlib import Path
from typing import Any, Self

import numpy as np

from harness.domain.misfits import width_asked_for
from harness.sandbox.absent import tables
from harness.sandbox.absent.columns import classes
from harness.sandbox.absent.lent import guess
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.sandbox.batches.callers import frame_of_the_program
from harness.syntax import source_of, walk

Array = np.ndarray[Any, Any]

LABELS = re.compile(r"(.*_)?(y|labels?|targets?|classes|cls)(_.*)?")
ROWS = re.compile(r"(.*_)?(x|data|features?|inputs?|emb\w*|vectors?)(_.*)?")
TOKENS = re.compile(r".*(tokens?|corpus|ids|shard).*")
PICTURES = re.compile(r"(.*_)?(images?|imgs?|pictures?|photos?|frames)(_.*)?")
MASKS = re.compile(r"(.*_)?(masks?|seg\w*|annotations?)(_.*)?")
"""Names of arrays, in lower case."""

SERIES = 2000
"""How many rows an array has of which nothing is known."""

MANY, BELOW = 400_000, 50
"""How many tokens an array of them has, and what they are below."""

SIDE = 32
"""Pixels of a side."""

FORMS = ("rows", "gray", "first", "last")
"""What one sample may be: numbers, pictures without channels, with channels before or behind."""

TRIED = "form"
"""What begins the names of forms that were tried."""

_source = ""
_known: dict[str, str] = {}
_keys: tuple[str, ...] = ()
_lent: list[str] = []


def install(tree: ast.Module, known: Mapping[str, str]) -> None:
    """Lend arrays to numpy. ``known``: what first runs showed."""
    global _source, _keys
    _source, _keys = source_of(tree), tuple(dict.fromkeys(_named(tree)))
    _known.update(known)
    np.load = tables.reading(np.load, _array)


def learned(error: BaseException) -> tuple[str, str] | None:
    """What a failure shows about an array that was lent, under a name; ``None``: nothing new."""
    refused = isinstance(error, RuntimeError | ValueError | IndexError | AssertionError)
    if not _lent or not refused or not tables.of_the_data(error):
        return None
    asked = width_asked_for(str(error))
    if asked is not None and _form() != "rows" and "side" not in _known:
        given, wanted = asked
        side = isqrt(SIDE * SIDE * wanted // given) if given else 0
        if side != SIDE and given * side * side == wanted * SIDE * SIDE:
            return "side", str(side)
    tried = sum(name.startswith(TRIED) for name in _known)
    return (f"{TRIED} {tried + 1}", "refused") if tried < len(FORMS) - 1 else None


def _form() -> str:
    """What is tried now: pictures first where a program folds them."""
    order = [*FORMS]
    if re.search(r"\bConv(Transpose)?2d\(", _source):
        order = ["gray", "first", "last", "rows"]
    if any(map(PICTURES.fullmatch, _lent)):
        order = ["last", "gray", "first", "rows"]
    return order[sum(name.startswith(TRIED) for name in _known) % len(order)]


def _named(tree: ast.Module) -> Iterator[str]:
    """Keys that a program asks for, and one for each beginning that it looks for."""
    for node in walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))) if key.isidentifier():
                yield key
            case ast.Call(func=ast.Attribute(attr="startswith"), args=[ast.Constant(value=str(s))]):
                yield f"{s}1"


def _is_archive(file: str) -> bool:
    """Whether a file holds several arrays: by its ending, or by how what is read of it is taken."""
    if Path(file).suffix:
        return file.endswith(".npz")
    read = re.findall(r"(\w+) = (?:np|numpy)\.load\(", _source)
    read += re.findall(r"(?:np|numpy)\.load\([^\n]*?\) as (\w+)", _source)
    taken = (rf"\b{name}(\[['\"]|\.files\b)" for name in read)
    return any(re.search(one, _source) for one in taken)


def _array(file: str, mmap_mode: str | None = None, *_: Any, **__: Any) -> Any:
    """What a file holds."""
    if Path(file).suffix not in (".npy", ".npz", ""):
        return None
    guess(file, "an array by chance")
    if _is_archive(file):
        return Arrays(alone=_is_a_sample())
    found = _by_name(Path(file).stem.lower(), mapped=mmap_mode is not None)
    return found[0] if _is_a_sample() else found


def _is_a_sample() -> bool:
    """Whether a data set reads a file for each of its samples."""
    frame = frame_of_the_program()
    return frame is not None and frame.f_code.co_name == "__getitem__"


class Arrays(dict[str, Any]):
    """A file of several arrays, each by its name."""

    def __init__(self, *, alone: bool = False) -> None:
        """``alone``: whether it holds one sample."""
        super().__init__()
        self._alone = alone

    def __missing__(self, name: str) -> Any:
        """The array is made when it is asked for."""
        made = _by_name(name.lower())
        found = self[name] = made[0] if self._alone else made
        return found

    @property
    def files(self) -> list[str]:
        """What the program asks of files like this one."""
        return [*_keys]

    def __contains__(self, name: object) -> bool:
        return name in _keys

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None:
        """There is nothing to close."""


def _by_name(name: str, *, mapped: bool = False) -> Array:
    """An array by its name; samples of the form that is tried where that tells nothing."""
    dice = np.random.default_rng(0)
    if LABELS.fullmatch(name):
        return classes(2)
    if (mapped or TOKENS.fullmatch(name)) and re.search(r"int64|\.long\(\)|torch\.long", _source):
        return dice.integers(0, BELOW, MANY)
    _lent.append(name)
    form, side = _form(), int(_known.get("side", SIDE))
    if form == "rows" and not MASKS.fullmatch(name):
        count = TRAIN if ROWS.fullmatch(name) else SERIES
        return dice.standard_normal((count, tables.width())).astype(np.float32)
    shape = {"first": (3, side, side), "last": (side, side, 3)}.get(form, (side, side))
    if MASKS.fullmatch(name):
        return dice.integers(0, 2, (TRAIN, side, side), np.uint8)
    return dice.integers(0, 256, (TRAIN, *shape), np.uint8)
