"""Tables that are not here: rows by chance, and what runs show that is asked of them."""

import functools
import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from harness.domain.misfits import NOTHING, SMALL, reshaped, width_asked_for
from harness.sandbox.absent.by_place import stands_for
from harness.sandbox.absent.columns import NUMBERED, TableFacts, cells, classes, facts_of
from harness.sandbox.absent.inert import Inert
from harness.sandbox.absent.lent import guess, guessed, is_whole
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.absent.standins.hub_datasets import CLASS
from harness.sandbox.absent.standins.torchvision import TRAIN

Columns = dict[Any, "np.ndarray[Any, Any]"]

READERS = ("read_csv", "read_parquet", "read_table", "read_feather", "read_excel", "read_json",
           "read_pickle")  # fmt: skip
OF_VECTORS = frozenset({"read_parquet", "read_pickle"})
"""What reads a table with pandas, and with what a cell may be a row of numbers."""

UNKNOWN = frozenset({"chunksize", "iterator"})
"""Options of a reader with which a table would have another form than the one that is lent."""

WIDEST = 20_000
"""Tables are not wider."""

LONG = 128
"""How wide rows are that go through convolutions and pools."""

ASKS_FOR_TEXTS = re.compile(
    r"text input must be of type `?str|expected (string or bytes-like|str, bytes or os.PathLike)"
    r"|join\(\) argument must be str"
    r"|'(int|float|numpy\.\w+)' object has no attribute '(upper|lower|strip|split|replace|encode)'"
)
"""How tokenizers, patterns and what programs do with texts refuse what is none."""

LONGER, TIMES = "more rows", 8
"""Under this name it is known that nothing came of the usual rows, and how many times as many there are
then.
"""

LOGARITHMS = re.compile(r"\b(np|numpy|torch)\.(log1p|log2|log10|log|sqrt)\(")
"""What is taken of numbers that are not negative."""

BEHIND = re.compile(r"index (\d+) is out of bounds for axis 1 with size")
"""How numpy words it that there are not as many columns as are asked for."""

OURS = ("torch/autograd", "torch/optim", "torch/amp")
"""What fails in there is no question of the data."""

_about = TableFacts()
_source = ""
_known: dict[str, str] = {}


def install(shown: ShownByProgram) -> None:
    """Lend tables to pandas, where it is loaded, and to numpy."""
    global _about, _source
    _about, _source = facts_of(shown), shown.source
    _known.clear()
    _known.update(shown.known)
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None:
        for name in READERS:
            lent = functools.partial(_frame, pandas, name in OF_VECTORS)
            setattr(pandas, name, reading(getattr(pandas, name), lent))
        writing: Any = importlib.import_module("pandas.io.common")
        writing.check_parent_directory = _make_parent
        for table in (pandas.DataFrame, pandas.Series):
            table.plot = table.hist = Inert()
    np.loadtxt = reading(np.loadtxt, _numbers)
    for name in ("save", "savez", "savez_compressed", "savetxt"):
        setattr(np, name, _writing(getattr(np, name)))


def learned(error: BaseException) -> tuple[str, str] | None:
    """What a failure shows about a table that was lent, under a name; ``None``: nothing new."""
    if not guessed() or not of_the_data(error):
        return None
    found = _columns_of(error) or _width_of(str(error))
    if found is None and re.search(r"\bLong\b", str(error)):
        found = ("whole", "1")
    if found is None and ASKS_FOR_TEXTS.search(str(error)):
        found = ("texts", "1")
    if found is None and NOTHING.search(str(error)):
        found = (LONGER, str(TIMES))
    return None if found is None or found[0] in _known else found


def of_the_data(error: BaseException) -> bool:
    """Whether it was not raised by what goes backward or steps, or by this machine."""
    if "memory" in str(error) or isinstance(error, OSError):
        return False
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if any(part in trace.tb_frame.f_code.co_filename for part in OURS):
            return False
        trace = trace.tb_next
    return True


def lines() -> str:
    """A table as text, with the names of its columns where the program reads past them."""
    table = _table()
    header = re.search(r"DictReader|\bnext\(|readline\(|\[1:\]|skip", _source) is not None
    between = "\t" if re.search(r"delimiter\s*=\s*['\"]\\t", _source) else ","
    rows = [between.join(table)] if header else []
    rows += [between.join(map(str, row)) for row in zip(*table.values(), strict=True)]
    return "\n".join(rows) + "\n"


def width() -> int:
    """How wide rows of numbers are."""
    return _about.width


def _columns_of(error: BaseException) -> tuple[str, str] | None:
    said = str(error.args[0]) if error.args else ""
    if isinstance(error, KeyError):
        names = re.findall(r"'([^']+)'", said.partition(" dtype=")[0]) or [said]
    elif isinstance(error, AttributeError) and "'DataFrame' object has no" in said:
        names = re.findall(r"attribute '(\w+)'", said)
    else:
        return None
    return f"columns {', '.join(names)}", "\n".join(names)


def _width_of(said: str) -> tuple[str, str] | None:
    if (asked := width_asked_for(said)) is not None:
        given, wanted = asked
        width = _about.width + wanted - given
        return ("width", str(width)) if 0 < width <= WIDEST else None
    if (asked := reshaped(said)) is not None:
        numbers, row = asked
        beside = numbers // TRAIN - _about.width  # columns that are named are of a table
        width = row - beside
        ours = numbers % TRAIN == 0 and 0 <= beside <= len(_about.named) + 1
        return ("width", str(width)) if ours and 0 < width <= WIDEST else None
    if (past := BEHIND.search(said)) is not None:
        return "width", str(_about.width + int(past[1]))
    return ("width", str(LONG)) if SMALL.search(said) else None


def reading(original: Callable[..., Any], instead: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of files that lends what is not here, if that can be."""

    @stands_for(original)
    def read(file: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(file, str | os.PathLike) or is_whole(file):
            return original(file, *args, **kwargs)
        found = instead(Path(os.fspath(file)).name, *args, **kwargs)
        return original(file, *args, **kwargs) if found is None else found

    return read


def _make_parent(path: Any) -> None:
    """Where a program writes, there is a folder."""
    Path(os.fspath(path)).parent.mkdir(parents=True, exist_ok=True)


def _writing(original: Callable[..., Any]) -> Callable[..., Any]:
    """A writer of files into folders that are not there."""

    @stands_for(original)
    def write(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, str | os.PathLike):
            _make_parent(file)
        return original(file, *args, **kwargs)

    return write


def _table(*, vectors: bool = False) -> Columns:
    """Columns beside the named ones, those, classes last."""
    dice = np.random.default_rng(0)
    found: Columns = {
        f"{_about.like}{n}": _numbers_for(_source, dice.standard_normal(TRAIN).astype(np.float32))
        for n in range(_about.width)
    }
    if _about.kinds:
        found["kind"] = np.array(["red", "green", "blue"], dtype=object)[np.arange(TRAIN) * 5 % 3]
    named = sorted(_about.named, key=_is_class)
    if not any(map(_is_class, named)):
        named.append("class")  # for programs that take the last column
    columns = {name: cells(name, _about, vectors=vectors) for name in named}
    numbered = [name for name in columns if NUMBERED.fullmatch(name.lower())]
    # who rates what: such a table has these columns, in the order in which a program speaks of them
    return columns | found if len(numbered) > 1 else found | columns


def _numbers_for(source: str, normal: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Counts and amounts where a program takes logarithms or roots of its table: none is negative."""
    return np.abs(normal) if LOGARITHMS.search(source) else normal


def _is_class(name: str) -> bool:
    return CLASS.fullmatch(name.lower()) is not None


def _wide() -> "np.ndarray[Any, Any]":
    """Numbers, with classes at both ends: programs take the first or the last column for them."""
    rows = np.random.default_rng(0).standard_normal((TRAIN, _about.width + 1))
    rows[:, 0] = rows[:, -1] = classes(2)
    return rows


def _frame(pandas: Any, vectors: bool, file: str, *_: Any, **asked: Any) -> Any:  # noqa: FBT001 - bound early
    """A table of pandas. ``vectors``: whether a cell may be a row of numbers."""
    if asked.keys() & UNKNOWN:
        return None
    guess(file, "a table by chance")
    names = asked.get("names")
    if names is not None:
        found = pandas.DataFrame({name: cells(str(name), _about) for name in names})
    elif asked.get("header", "infer") is None:
        found = pandas.DataFrame(_wide())
    else:
        found = pandas.DataFrame(_table(vectors=vectors))
    for place, name in _about.placed.items():
        while len(found.columns) <= place:
            found[f"{_about.like}{len(found.columns)}"] = classes(2)
        found.isetitem(place, cells(name, _about))
    found = pandas.concat([found] * int(_known.get(LONGER, 1)), ignore_index=True)
    return _as_asked(pandas, found, asked)


def _as_asked(pandas: Any, table: Any, asked: Mapping[str, Any]) -> Any:
    """The table with the columns, the index and the dates that a reader asks for."""
    dates, index = asked.get("parse_dates"), asked.get("index_col")
    for name in dates if isinstance(dates, list | tuple) else ():
        if name in table:
            table[name] = pandas.to_datetime(table[name])
    wanted = asked.get("usecols", asked.get("columns"))
    if isinstance(wanted, list | tuple) and all(name in table for name in wanted):
        table = table[[*wanted]]
    if dates is True and index == 0:
        table.index = pandas.date_range("2015-01-01", periods=len(table))
    elif isinstance(index, str) and index in table:
        table = table.set_index(index)
    elif type(index) is int:
        table = table.set_index(table.columns[index])
    return table.head(asked.get("nrows") or len(table))


def _numbers(file: str, dtype: Any = float, *_: Any, unpack: bool = False, **more: Any) -> Any:
    """A table of numpy."""
    if np.dtype(dtype).kind not in "iuf" or more.get("usecols") is not None:
        return None
    guess(file, "a table by chance")
    rows = np.tile(_wide().astype(dtype), (int(_known.get(LONGER, 1)), 1))
    return rows.T if unpack else rows
