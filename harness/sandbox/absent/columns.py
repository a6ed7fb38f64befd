"""What a program shows of a table that is not here: its columns, words that it looks for in them."""

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.sandbox.absent import sounds
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.absent.standins.hub_datasets import CLASS, WORDS
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.syntax import walk

Cells = np.ndarray[Any, Any]
Dice = np.random.Generator

READERS = re.compile(r"\bread_(csv|table|parquet|feather|excel|pickle|json)\b|\bDictReader\b")
"""What makes a table."""

TABLES = re.compile(r"(.*_)?(df|frame|table)\d*|df_.*")
"""Names of tables."""

TAKING = frozenset({"drop", "pop", "groupby", "sort_values", "set_index"})
"""Methods of a table whose first argument is a column."""

GIVEN = frozenset({"columns", "usecols", "subset", "by", "on", "parse_dates", "index_col"})
"""Arguments that are columns."""

OPENS = re.compile(r"(^|\.)(join|joinpath|open|Path|imread|imdecode|read\w*|load)$")
"""What is given the path of a file."""

PREFIX = re.compile(r"[A-Za-z]+_")
"""What names of columns begin with where a program looks for such."""

IDENTIFIERS = 50
"""How many different ones there are of whatever has a number of its own."""


FACE = 48
"""Pixels of a side of a picture that is written out."""


@dataclass(frozen=True)
class TableFacts:
    """What is known of the tables of a program."""

    named: tuple[str, ...] = ()
    """Columns that it names."""
    words: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By column, the words or the numbers that it looks for in it."""
    like: str = "column "
    """How the names of columns begin that stand beside those, with a number."""
    width: int = 8
    """How many of those there are."""
    kinds: bool = False
    """Whether it asks which columns are words."""
    whole: bool = False
    """Whether all numbers are classes."""
    ending: str = ".png"
    """How the names of the files end that its rows name."""
    placed: Mapping[int, str] = field(default_factory=dict)
    """By place, what the column is taken for where none is named."""
    texts: bool = False
    """Whether columns of which nothing is known are texts."""


@functools.lru_cache(maxsize=1)
def facts_of(shown: ShownByProgram) -> TableFacts:
    """What is read off a program, and what its first runs met."""
    tree, known = shown.tree, shown.known
    lists = _lists(tree)
    named = [*_named(tree, lists)]
    for key, value in known.items():
        if key.startswith("columns"):
            named += value.split("\n")
    like = [
        word.value.value for call in walk(tree) if isinstance(call, ast.Call)
        for word in call.keywords
        if word.arg == "like" and isinstance(word.value, ast.Constant)
    ]  # fmt: skip
    return TableFacts(
        named=tuple(dict.fromkeys(named)),
        words=_words(tree),
        placed=_placed(tree),
        like=str(like[0]) if like else "column ",
        width=int(known.get("width", 8)),
        kinds=re.search(r"select_dtypes|get_dummies|\bobject\b", shown.source) is not None,
        whole="whole" in known,
        ending=".wav" if sounds.READS.search(shown.source) else ".png",
        texts="texts" in known,
    )


def _lists(tree: ast.Module) -> dict[str, ast.expr]:
    """``FEATURES = ["a", "b"]``"""
    return {
        ast.unparse(target): node.value
        for node in walk(tree) if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.List | ast.Tuple | ast.Constant | ast.BinOp)
        for target in node.targets
    }  # fmt: skip


def _named(tree: ast.Module, lists: Mapping[str, ast.expr]) -> Iterator[str]:
    tables = _tables(tree)
    for node in walk(tree):
        match node:
            case ast.Subscript(value=of, slice=part, ctx=ast.Load()) if _is_table(of, tables):
                yield from _strings(part, lists)
            case ast.Subscript(value=ast.Attribute(attr="loc"), slice=ast.Tuple(elts=[_, part])):
                yield from _strings(part, lists)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in tables:
                yield from [attr] if CLASS.fullmatch(attr) or TEXT.fullmatch(attr) else []
            case ast.Call(func=ast.Attribute(value=of, attr=attr), args=[first, *_]) if (
                attr in TAKING and _is_table(of, tables)
            ):
                yield from _strings(first, lists)
            case ast.keyword(arg=str(name), value=value) if name in GIVEN:
                yield from _strings(value, lists)
            case ast.Call(
                func=ast.Attribute(attr="startswith"), args=[ast.Constant(value=str(first))]
            ):
                yield from [f"{first}{n}" for n in range(3)] if PREFIX.fullmatch(first) else []


def _tables(tree: ast.Module) -> set[str]:
    """Names of tables, and of what is taken out of them row by row."""
    made: list[tuple[str, str]] = []
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            made += [(ast.unparse(t), ast.unparse(node.value)) for t in node.targets]
        elif isinstance(node, ast.comprehension | ast.For):
            made += [
                (n.id, ast.unparse(node.iter)) for n in walk(node.target) if isinstance(n, ast.Name)
            ]
    found = {name for name, value in made if READERS.search(value)}
    for _ in range(2):
        for name, value in made:
            if any(re.match(rf"{re.escape(one)}\b", value) for one in found) and "[" not in name:
                found.add(name)
    return found


def _is_table(of: ast.expr, tables: set[str]) -> bool:
    text = ast.unparse(of)
    return text in tables or TABLES.fullmatch(text.rpartition(".")[2]) is not None


def _strings(part: ast.expr, lists: Mapping[str, ast.expr], depth: int = 3) -> Iterator[str]:
    match part:
        case ast.Constant(value=str(text)):
            yield text
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            for one in parts:
                yield from _strings(one, lists)
        case ast.BinOp(left=left, right=right):
            yield from _strings(left, lists, depth)
            yield from _strings(right, lists, depth)
        case ast.Starred(value=value):
            yield from _strings(value, lists, depth)
        case ast.Name() | ast.Attribute() if depth and ast.unparse(part) in lists:
            yield from _strings(lists[ast.unparse(part)], lists, depth - 1)


def _words(tree: ast.Module) -> dict[str, tuple[Any, ...]]:
    """``df["sex"].map({"male": 0, "female": 1})``, ``df["sex"] == "male"``, ``df["part"] == 2``"""
    found: dict[str, tuple[Any, ...]] = {}
    for node in walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=of, attr="map" | "replace"), args=[ast.Dict(keys=keys), *_]
            ):
                words = [k.value for k in keys if isinstance(k, ast.Constant)]
            case ast.Compare(left=of, ops=[ast.Eq()], comparators=[ast.Constant(value=str(word))]):
                words = [word, f"no {word}"]
            case ast.Compare(
                left=of, ops=[ast.Eq()], comparators=[ast.Constant(value=int(number))]
            ):
                words = [number, int(not number)]
            case _:
                continue
        column = _column(of)
        kinds = {*map(type, (*found.get(column, ()), *words))}
        if column and words and kinds in ({str}, {int}):
            found[column] = (*found.get(column, ()), *words)
    return found


def _placed(tree: ast.Module) -> dict[int, str]:
    """``label = df.iloc[row, 1]``, ``join(root, df.iloc[row, 0])``"""
    found: dict[int, str] = {}
    for node in walk(tree):
        match node:
            case ast.Assign(targets=[target], value=value):
                names, kept = ast.unparse(target).rpartition(".")[2], found
            case ast.FunctionDef(name=names):
                value, kept = ast.Tuple([*_returned(node)]), found
            case ast.Call(func=func, args=args) if OPENS.search(ast.unparse(func)):
                value, names, kept = ast.Tuple(args), "path", {}
            case ast.BinOp(op=ast.Div(), right=value):
                names, kept = "path", {}
            case _:
                continue
        found |= dict.fromkeys(_places(value), names) | kept
    return found


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    ends = (node for node in walk(function) if isinstance(node, ast.Return))
    return (end.value for end in ends if end.value is not None)


def _places(value: ast.expr) -> Iterator[int]:
    for node in walk(value):
        match node:
            case (
                ast.Subscript(
                    value=ast.Attribute(attr="iloc"),
                    slice=ast.Tuple(elts=[_, ast.Constant(value=int(place))]),
                )
                | ast.Subscript(
                    value=ast.Subscript(value=ast.Attribute(attr="iloc")),
                    slice=ast.Constant(value=int(place)),
                )
            ):
                yield place


def _column(of: ast.expr) -> str:
    match of:
        case ast.Subscript(slice=ast.Constant(value=str(name))) | ast.Attribute(attr=name):
            return name
    return ""


def cells(column: str, about: TableFacts, *, vectors: bool = False) -> Cells:
    """A column by its name. ``vectors``: whether a cell may be a row of numbers."""
    dice, name = np.random.default_rng(sum(column.encode())), column.lower()
    if found := about.words.get(column):
        values = _objects([*found]) if isinstance(found[0], str) else np.array(found)
        return values[classes(len(found))]
    if vectors and VECTOR.fullmatch(name):
        return _objects([*dice.standard_normal((TRAIN, about.width)).astype(np.float32)])
    kind = next((make for pattern, make in KINDS if pattern.fullmatch(name)), None)
    if kind is None and about.texts:
        kind = _texts
    if kind is _files:
        return _files(dice, about.ending)
    return classes(2) if kind is None or about.whole else kind(dice)


def is_known(column: str, about: TableFacts) -> bool:
    """Whether the name of a column tells what it holds."""
    named = any(pattern.fullmatch(column.lower()) for pattern, _ in KINDS)
    return named or column in about.words


def classes(count: int) -> Cells:
    """So many of them, in no order."""
    row = np.arange(TRAIN)
    return (row * 7 + row // 5) % count


def _days(_: Dice) -> Cells:
    return _objects([str(np.datetime64("2015-01-01") + n) for n in range(TRAIN)])


def _objects(values: list[Any]) -> Cells:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _files(_: Dice, ending: str = ".png") -> Cells:
    return _objects([f"{n}{ending}" for n in range(TRAIN)])


def _texts(dice: Dice) -> Cells:
    return _objects([" ".join(dice.choice(WORDS, dice.integers(4, 20))) for _ in range(TRAIN)])


def _pixels(dice: Dice) -> Cells:
    """Each picture a text of numbers, as many as faces of a known set have."""
    few = [" ".join(map(str, dice.integers(0, 256, FACE * FACE))) for _ in range(IDENTIFIERS)]
    return _objects([few[n % IDENTIFIERS] for n in range(TRAIN)])


NUMBERED = re.compile(
    r"(.*_)?(id|user|item|movie|product|node|book|customer|[ui]id|(user|item|movie|book)id)s?"
)
TEXT = re.compile(
    r".*(text|sentence|review|comment|title|body|content|message|tweet|question|answer|caption"
    r"|prompt|summary|document|abstract|descri\w+|headline|utterance|query|premise|hypothesis)s?\d?"
)
VECTOR = re.compile(r".*(feat\w*|emb\w*|vec(tor)?)")

KINDS: tuple[tuple[re.Pattern[str], Callable[[Dice], Cells]], ...] = (
    (CLASS, lambda _: classes(2)),
    (re.compile(r"pixels"), _pixels),
    (re.compile(r".*(file|file_?name|path|image|image_?id|img|audio|wav)s?"), _files),
    (re.compile(r"(.*_)?(date|time|timestamp|datetime|day)"), _days),
    (NUMBERED, lambda dice: dice.integers(0, IDENTIFIERS, TRAIN)),
    (TEXT, _texts),
    (re.compile(r"(.*_)?(score|rating|stars?)s?"), lambda dice: dice.integers(1, 6, TRAIN)),
    (re.compile(r".*(amount|fare|charges?)"), lambda dice: dice.uniform(3.0, 9.0, TRAIN)),
    (
        re.compile(
            r".*(price|cost|sales?|income|revenue|value|area|age|year|rating|score|temp\w*"
            r"|weight|height|close|open|high|low|volume|length|width|balance|time)"
        ),
        lambda dice: dice.uniform(0.5, 2.0, TRAIN),
    ),
)
"""Patterns of whole names in lower case, first match first, and what such a column holds; others hold
one of two classes, which are numbers, too.
"""
