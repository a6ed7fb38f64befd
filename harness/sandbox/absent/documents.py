"""What a file holds that is not here, where only its use tells: it is what is done with it.

A part of such a file is of no kind until the program asks it for a key, goes through it, computes with
it or opens what it names. Then all parts at the same place of the file are of that kind, in this run
and in the next ones: what was learned is handed on, and there they are what Python has for it.
"""

import ast
import dis
import functools
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import torch

from harness.domain.misfits import NOTHING
from harness.sandbox.absent import arrays, tables
from harness.sandbox.absent.columns import TableFacts, cells, facts_of, is_known
from harness.sandbox.absent.lent import guess, is_whole
from harness.sandbox.absent.settings import known_value
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.absent.standins.hub_datasets import WORDS
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.sandbox.unbound import Unbound
from harness.syntax import walk

ROWS, FEW, LONGER = 256, 16, 4096
"""How many there are where a program goes through something, in each of those, and where nothing came
of so many.
"""

ROUNDS = 14
"""How many runs learn from one another at most."""

SHOWN = "uses"
"""What begins the names under which it is handed on what was learned."""

KEYED, LISTED, NUMBERS, TEXT, NAME, WHOLE, REAL, FILE, CELL, OPEN = (
    "keyed", "listed", "numbers", "text", "name", "whole", "real", "file", "cell", "open",
)  # fmt: skip
"""Kinds of parts. ``CELL``: what a column of a table by its name holds; ``OPEN``: its name tells
something else than what is done with it.
"""

ARCHIVE = "archive"
"""The family of a file whose parts are arrays, each of them."""

SIZE = re.compile(r"(n|num)_\w+|(vocab|\w+_)(size|dim|len|length|count)|size|dim|length")
IDENTIFIER = re.compile(r"(.*_)?(id|idx|index|uid)")
INDEX = re.compile(
    r".*(vocab|2i|2id|2idx|2index|to_?id|to_?idx|to_?index|stoi|dict\w*|labels?\b|intents?\b"
    r"|class_indices|index|ids?\b|map\w*)",
    re.IGNORECASE,
)
INVERSE = re.compile(r".*(itos|(id|idx|i|index)_?(2|to)_?[a-z]+)", re.IGNORECASE)
"""Names of what counts something, of the number of something, of a mapping from words to numbers, and
of one back.
"""

LONGEST, SHORT = 20, 3
"""Sentences have fewer words."""

DEEP = 3
"""So deep lists of lists are none."""

MOST, SIDES = 12, 24
"""How many parts are learned of in one run, and into how many parts of what size numbers divide that
have a form.
"""

MISSHAPEN = re.compile(r"shape|dim(ension)?s?\b|\bsize\b|0-d|scalar|len\(\)")
"""How torch words it that something has another form."""

UNPACKED = re.compile(r"values to unpack \(expected (\d+)")
"""How Python words it that a list has another length."""

LONG = "long"
"""Under this name it is known that lists in rows are long, as nothing came of short ones."""

LENT_WORD = re.compile(r"class \d+|no ")
"""What stands where nothing but a word is known to stand."""

ASKED = (
    (re.compile(r"str(ing)?\b"), TEXT),
    (re.compile(r"ndarray|Tensor|array"), NUMBERS),
    (re.compile(r"integer|index"), WHOLE),
    (re.compile(r"float|real|number"), REAL),
)
"""How Python and torch word it that they take something else, and what that is."""


class Place(NamedTuple):
    """Where a part of a file stands."""

    path: str
    """From the name of the file on: ``[]`` for each of its rows, ``{}`` for what any key has."""
    key: str
    """The name that tells most of it."""
    family: str
    """What its numbers are."""
    row: int
    """Which of the rows above it."""

    def part(self, name: str) -> "Place":
        """Where a part of it stands."""
        return self._replace(path=f"{self.path}.{name}", key=name)


_forms: dict[str, str] = {}
_learned: dict[str, str] = {}
_handed: dict[str, None] = {}
_constants: list[str] = []
_lists: list[str] = []
"""Places of what was gone through."""
_scalars: list[str] = []
"""Places of what became one number when a tensor was made of it."""
_about = TableFacts()
_round = 0


def install(shown: ShownByProgram) -> None:
    """Learn from what first runs met."""
    global _about, _round  # noqa: PLW0603 - one candidate runs in a process
    _about = facts_of(shown)
    _constants.extend(_keys_in(shown.tree))
    for name, learned_ in shown.known.items():
        if name.startswith(SHOWN):
            _forms.update(json.loads(learned_))
            _round += 1
    np.load = _archives(np.load)
    for made in ("tensor", "as_tensor", "from_numpy"):
        setattr(torch, made, _settling(getattr(torch, made)))


def _keys_in(tree: ast.AST) -> Iterator[str]:
    """Keys that a program writes down."""
    for node in walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                yield key
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
                yield key
            case ast.Call(func=ast.Attribute(attr="startswith"), args=[ast.Constant(value=str(s))]):
                yield f"{s}1"


def _archives(original: Callable[..., Any]) -> Callable[..., Any]:
    """``numpy.load`` of a file of several arrays, or of the several arrays of one sample."""

    @functools.wraps(original)
    def load(file: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(file, str | os.PathLike) or is_whole(file):
            return original(file, *args, **kwargs)
        name = os.path.basename(os.fspath(file))
        return archive(name) if arrays.is_archive(name) else original(file, *args, **kwargs)

    return load


def archive(name: str) -> Any:
    """What a file of several arrays holds, or one of those that hold the arrays of one sample."""
    guess(name, "an array by chance")
    of_each = "[]" * arrays.is_a_sample()
    return Keyed(Place(f"{name}{of_each}", Path(name).stem, ARCHIVE, 0))


def document(name: str, family: str) -> Any:
    """What a file holds. ``family``: ``json`` or ``tensors``, by what its numbers are."""
    guess(name, "what it is used as")
    return _part(Place(name, Path(name).stem, family, 0))


def row(name: str, number: int) -> Any:
    """What stands on a line of a file of JSON."""
    guess(name, "what it is used as")
    return _part(Place(f"{name}[]", "", "json", number))


def learned(error: BaseException) -> tuple[str, str] | None:
    """What a failure shows of a part, with all that was seen in this run; ``None``: nothing new."""
    if _round >= ROUNDS or not tables.of_the_data(error):
        return None
    said = str(error)
    if not _learned:
        _learned.update(_refused(said))
    listed = any("[]" in path for path in (*_forms, *_learned))
    if listed and LONG not in _forms and NOTHING.search(said):
        _learned[LONG] = "asked for"
    told = dict([*_learned.items()][:MOST])
    return (f"{SHOWN} {_round + 1}", json.dumps(told)) if told else None


def _refused(said: str) -> dict[str, str]:
    """What the words of a failure tell where no use of a part told anything."""
    if _scalars and MISSHAPEN.search(said):
        return {_scalars[-1]: f"many {_forms[_scalars[-1]][4:]}"}
    if _lists and (count := UNPACKED.search(said)):
        return {_lists[-1]: " ".join(["items", *(f"part{n}" for n in range(int(count[1])))])}
    last = next(reversed(_handed), None)
    if last is None or _forms.get(last, OPEN) != OPEN:
        return {}
    if tables.ASKS_FOR_TEXTS.search(said):
        return {last: TEXT}
    asked = next((kind for words, kind in ASKED if words.search(said)), None)
    if asked is not None and "OpenPart" in said:
        return {last: asked}
    return {last: OPEN} if last not in _forms else {}


def _part(place: Place) -> Any:
    """What stands at a place, as far as it is known what it is."""
    path, kind = place.path, _forms.get(place.path)
    if kind in (None, OPEN):
        _handed.pop(path, None)
        _handed[path] = None
    if kind is None:
        kind = _kind_of(place)
    return OpenPart(place) if kind in (None, OPEN) else _made(place, str(kind))


def _kind_of(place: Place) -> str | None:
    """What a name tells."""
    key = place.key
    if not place.path.endswith(f".{key}"):
        return None
    if place.family == ARCHIVE:
        return NUMBERS
    if SIZE.fullmatch(key) or IDENTIFIER.fullmatch(key):
        return WHOLE
    return CELL if place.family == "json" and is_known(key, _about) else None


def _made(place: Place, kind: str) -> Any:
    """Something of a kind."""
    of, _, rest = kind.partition(" ")
    return COMPOSED[of](place, rest) if of in COMPOSED else PLAIN[kind](place)


def _rows(place: Place) -> list[Any]:
    _lists.append(place.path)
    few, many = (ROWS, LONGER) if LONG in _forms else (FEW, ROWS)
    count = few if "[]" in place.path else many
    return [_part(Place(f"{place.path}[]", place.key, place.family, n)) for n in range(count)]


def _items(place: Place, names: str) -> list[Any]:
    return [_part(place.part(name)) for name in names.split()]


def _numbers(place: Place) -> Any:
    path = place.path
    found = arrays.by_name(place.key, alone="[]" in path or "{}" in path, row=place.row)
    return torch.as_tensor(found) if place.family == "tensors" else found


def _one(place: Place, kind: str) -> Any:
    _scalars.append(place.path)
    return _made(place, kind)


def _many(place: Place, kind: str) -> list[Any]:
    return [_made(place._replace(row=n), kind) for n in range(SIDES)]


def _word(place: Place, word: str) -> str:
    """A word that is looked for stands in most rows."""
    return word if place.row % 8 else f"no {word}"


def _whole(place: Place) -> int:
    """Sizes by their names, numbers of rows and of keys, or one of two classes."""
    known = known_value(place.key) if SIZE.fullmatch(place.key) else None
    if type(known) is int:
        return known
    numbered = IDENTIFIER.fullmatch(place.key) or place.path.endswith("{}")
    return place.row if numbered else place.row % 2


def _real(place: Place) -> float:
    if _about.whole:
        return place.row % 2
    return float(np.random.default_rng(place.row).uniform(0.5, 1.5))


def _text(place: Place) -> str:
    """A sentence, none as long as the next: what is counted in words or letters differs between rows."""
    dice = random.Random(f"{place.path} {place.row}")
    longest = SHORT if LONG in _forms else LONGEST  # what is cut off may be all that counts
    return " ".join(dice.choices(WORDS, k=dice.randrange(1, longest)))


def _called(place: Place) -> str:
    """Words of classes in a list of their own, and again and again in rows; else what the name tells."""
    if not is_known(place.key, _about):
        return f"class {place.row if place.path.endswith('[]') else place.row % 2}"
    found = str(place.row) if IDENTIFIER.fullmatch(place.key) else _cell(place)
    return found if isinstance(found, str) else f"class {found}"


def _cell(place: Place) -> Any:
    found = _column(place.key)[place.row % TRAIN]
    return found.item() if isinstance(found, np.generic) else found


COMPOSED: dict[str, Callable[[Place, str], Any]] = {
    "items": _items,
    "one": _one,
    "many": _many,
    "word": _word,
}
"""What is made of a kind with something about it."""


@functools.cache
def _column(name: str) -> Any:
    return cells(name, _about)


def _words() -> tuple[str, ...]:
    """Keys of a mapping."""
    return (*WORDS, "class 0", "class 1")


class Keyed(dict[Any, Any]):
    """An object of a file, or a mapping: it holds what it is asked for."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._at = place
        self._filled = False

    def _fill(self) -> None:
        """Be a mapping, as who goes through it takes it for one."""
        if self._filled:
            return
        self._filled = True
        names: list[Any] = [*_words()]
        if INVERSE.fullmatch(Path(self._at.key).stem):
            names = [*range(len(names))]
        for name in names:
            if not dict.__contains__(self, name):
                dict.__setitem__(self, name, self._value(name))

    def _value(self, name: Any) -> Any:
        stem = Path(self._at.key).stem
        if INVERSE.fullmatch(stem):
            return WORDS[int(name) % len(WORDS)]
        if INDEX.fullmatch(stem):
            return self._place(name)
        named = isinstance(name, str) and (name in _constants or name.isidentifier())
        if named and not self._filled:
            return _part(self._at.part(name))
        of_any = f"{self._at.path}{{}}"
        return _part(self._at._replace(path=of_any, row=self._place(name)))

    def _place(self, name: Any) -> int:
        """The number of a key: one of those that there are, once they were counted."""
        count = dict.__len__(self)
        return sum(str(name).encode()) % count if self._filled and name not in _words() else count

    def __missing__(self, name: Any) -> Any:
        found = self[name] = self._value(name)
        return found

    def get(self, name: Any, default: Any = None) -> Any:
        """What stands there; what the program falls back on, where it says that."""
        if name in _constants:
            return self[name] if default is None else dict.get(self, name, default)
        self._fill()
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self._fill()
        return name in _constants or super().__contains__(name)

    def __len__(self) -> int:
        self._fill()
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._fill()
        return super().__iter__()

    def keys(self) -> Any:
        """All keys of a mapping."""
        self._fill()
        return super().keys()

    def items(self) -> Any:
        """All of a mapping."""
        self._fill()
        return super().items()

    def values(self) -> Any:
        """The same."""
        self._fill()
        return super().values()

    @property
    def files(self) -> list[str]:
        """Names of arrays: those that the program asks for."""
        return [*dict.fromkeys(name for name in _constants if name.isidentifier())]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None:
        """There is nothing to close."""


class OpenPart:
    """Something of a file of which nothing is known yet."""

    def __init__(self, place: Place) -> None:
        self.__dict__["_at"] = place

    def _as(self, kind: str) -> Any:
        """What it is from now on."""
        held = self.__dict__
        if "_held" not in held:
            path = self._at.path
            if _forms.get(path, OPEN) == OPEN:
                _forms[path] = _learned[path] = kind
            held["_held"] = _made(self._at, _forms[path])
        return held["_held"]

    def _number(self, other: Any = None) -> Any:
        """What can be computed with something else."""
        if isinstance(other, str):
            return self._as(FILE if other.endswith("/") else TEXT)
        whole = isinstance(other, np.ndarray | torch.Tensor) or self._at.family != "json"
        return self._as(NUMBERS if whole else REAL)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__array_interface__":
            raise AttributeError(name)
        if name in ("items", "keys", "values", "get", "files", "close"):
            return getattr(self._as(KEYED), name)
        if hasattr(str, name) and self._at.family == "json" and name not in ("count", "index"):
            return getattr(self._as(TEXT), name)
        if name in ("append", "extend", "sort", "index", "count", "copy"):
            return getattr(self._as(LISTED), name)
        if hasattr(np.ndarray, name) or hasattr(torch.Tensor, name):
            return getattr(self._as(NUMBERS), name)
        raise AttributeError(name)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._as(KEYED)[key]
        if isinstance(key, tuple):
            return self._as(NUMBERS)[key]
        if type(key) is int and INDEX.fullmatch(self._at.key):
            return self._as(KEYED)[key]
        if isinstance(key, int | slice) and self._at.family == "json":
            return self._as(LISTED)[key]
        return self._as(NUMBERS if self._at.family != "json" else KEYED)[key]

    def __iter__(self) -> Iterator[Any]:
        names = _unpacked_to(sys._getframe(1))
        if names:
            return iter(self._as(f"items {' '.join(names)}"))
        return iter(self._as(self._several()))

    def __len__(self) -> int:
        return len(self._as(self._several()))

    def _several(self) -> str:
        """Rows, or numbers where a list would hold lists of lists."""
        return LISTED if self._at.family == "json" and self._at.path.count("[]") < DEEP else NUMBERS

    def __contains__(self, name: object) -> bool:
        return name in self._as(KEYED)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._as(NUMBERS), dtype)

    @classmethod
    def __torch_function__(cls, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*map(settled, args), **{n: settled(v) for n, v in (kwargs or {}).items()})

    def __fspath__(self) -> str:
        return str(self._as(FILE))

    def __rtruediv__(self, other: Any) -> Any:
        return other / (self._as(FILE) if isinstance(other, Path) else self._number(other))

    def __str__(self) -> str:
        return str(self._as(TEXT))

    def __hash__(self) -> int:
        return hash(self._as(NAME))

    def __eq__(self, other: object) -> bool:
        kind = WHOLE if isinstance(other, int | float) else NAME
        if isinstance(other, str) and not LENT_WORD.match(other):
            kind = f"word {other}"
        return bool(self._as(kind) == other)

    def __index__(self) -> int:
        return int(self._as(WHOLE))

    __int__ = __index__

    def __float__(self) -> float:
        return float(self._as(REAL))

    def __bool__(self) -> bool:
        return bool(self._as(WHOLE))

    def __enter__(self) -> Any:
        return self._as(KEYED)

    def __exit__(self, *_: object) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Nobody knows what it would do."""
        raise Unbound(self._at.path, "is called, and stands in a file that is not here")


def _computing(name: str) -> Callable[..., Any]:
    def compute(self: OpenPart, *others: Any) -> Any:
        if name == "__radd__" and isinstance(others[0], str):
            return others[0] + self._number(*others)
        return getattr(self._number(*others), name)(*others)

    return compute


for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "floordiv", "mod", "pow", "neg",
    "lt", "gt", "le", "ge",
):  # fmt: skip
    setattr(OpenPart, f"__{_name}__", _computing(f"__{_name}__"))


PLAIN: dict[str, Callable[[Place], Any]] = {
    KEYED: Keyed,
    LISTED: _rows,
    NUMBERS: _numbers,
    TEXT: _text,
    NAME: _called,
    WHOLE: _whole,
    REAL: _real,
    FILE: lambda place: str(_column("file")[place.row % TRAIN]),
    CELL: _cell,
}
"""What is made of each other kind."""


def settled(thing: Any, *, whole: bool = False) -> Any:
    """A value without open parts, as what takes it is not written in Python."""
    if isinstance(thing, OpenPart):
        family = thing._at.family
        counted = whole or thing._at.path.endswith("{}")
        return thing._as(NUMBERS if family != "json" else f"one {WHOLE if counted else REAL}")
    if isinstance(thing, list | tuple) and any(isinstance(part, OpenPart) for part in thing):
        return type(thing)(settled(part, whole=whole) for part in thing)
    return thing


def _settling(original: Callable[..., Any]) -> Callable[..., Any]:
    def make(data: Any, *args: Any, **kwargs: Any) -> Any:
        whole = kwargs.get("dtype") in (torch.long, torch.int64, torch.int32)
        return original(settled(data, whole=whole), *args, **kwargs)

    make.__name__ = original.__name__
    if (builtin := torch.jit._builtins._find_builtin(original)) is not None:
        # what is compiled with TorchScript knows it by its identity, as in torch.distributed.optim
        torch.jit._builtins._register_builtin(make, builtin)
    return make


def _unpacked_to(frame: FrameType) -> tuple[str, ...]:
    """Names to which a line gives the parts of what it unpacks; none where it goes through it."""
    code = [*dis.get_instructions(frame.f_code)]
    at = next((n for n, one in enumerate(code) if one.offset == frame.f_lasti), None)
    if at is None or code[at].opname != "UNPACK_SEQUENCE":
        return ()
    count = int(code[at].arg or 0)
    named = [str(one.argval) for one in code[at + 1 : at + 1 + count] if "STORE" in one.opname]
    return tuple(named) if len(named) == count else tuple(f"part{n}" for n in range(count))
