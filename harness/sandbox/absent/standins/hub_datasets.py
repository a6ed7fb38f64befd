"""Tables of a hub: rows that have whatever column is asked for, a text or a class by its name."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.pillow import Picture

ROWS, FEWER = 512, 64
"""How many rows there are, in the part to train on and in others."""

WORDS = [
    "the", "a", "of", "to", "and", "in", "model", "gradient", "step", "loss", "batch", "learns",
    "falls", "small", "large", "red", "green", "blue", "quick", "brown", "fox", "jumps", "over",
    "lazy", "dog", "never", "always", "sometimes",
]  # fmt: skip

CLASS = re.compile(
    r"labels?|.*_label|target|class|category|intent|coarse_label|fine_label|answer_?idx"
)
PICTURE = re.compile(r"image|img|picture|pixel_values")
TOKENS = re.compile(r"input_ids|tokens|ids")
NUMBER = re.compile(r"score|rating|stars|idx|index|id|length")


def _cell(column: str, row: int) -> Any:
    dice = random.Random(f"{column} {row}")
    if CLASS.fullmatch(column):
        return row % 2
    if NUMBER.fullmatch(column):
        return row
    if TOKENS.fullmatch(column):
        return [dice.randrange(1, 100) for _ in range(16)]
    if PICTURE.fullmatch(column):
        pixels = torch.randint(0, 256, (32, 32, 3), generator=torch.Generator().manual_seed(row))
        return Picture(pixels.to(torch.uint8))
    return " ".join(dice.choices(WORDS, k=dice.randrange(12, 40))) + "."


class Row(dict[str, Any]):
    """One row: a column that nobody has named yet is made up."""

    def __init__(self, number: int, known: dict[str, Any]) -> None:
        super().__init__(known)
        self.number = number

    def __missing__(self, column: str) -> Any:
        return _cell(column, self.number)


class Columns(dict[str, list[Any]]):
    """Several rows, by column."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        super().__init__({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})

    def __missing__(self, column: str) -> list[Any]:
        return [row[column] for row in self.rows]


class Dataset(torch.utils.data.Dataset[Any]):
    """A table."""

    def __init__(
        self, rows: list[dict[str, Any]], form: str | None = None, columns: Any = None
    ) -> None:
        self._rows, self._form, self._columns = rows, form, columns
        self._transform: Callable[[Any], Any] | None = None

    @classmethod
    def from_dict(cls, given: dict[str, list[Any]], *_: Any, **__: Any) -> "Dataset":
        """Of columns that the program has."""
        return cls(
            [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]
        )

    @classmethod
    def from_list(cls, given: list[dict[str, Any]], *_: Any, **__: Any) -> "Dataset":
        """Of rows that the program has."""
        return cls([dict(row) for row in given])

    from_generator = classmethod(lambda cls, make, *_, **__: cls([dict(row) for row in make()]))

    def __len__(self) -> int:
        return len(self._rows)

    num_rows = property(lambda self: len(self._rows))

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """A row, some rows by column, or a column."""
        if isinstance(key, str):
            return [self._shown(row)[key] for row in self._rows]
        if isinstance(key, slice | list | tuple | range):
            places = range(len(self))[key] if isinstance(key, slice) else key
            return Columns([self._shown(self._rows[int(n)]) for n in places])
        return self._shown(self._rows[int(key)])

    def __getitems__(self, places: list[int]) -> list[Any]:
        return [self[n] for n in places]

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        names = [*(self._columns or row)]
        found = (
            Row(row.number, {n: row[n] for n in names})
            if isinstance(row, Row)
            else {n: row[n] for n in names}
        )
        if self._form in ("torch", "pt"):
            found = {
                n: v if isinstance(v, str | Picture) else torch.as_tensor(v)
                for n, v in found.items()
            }
        if self._transform is not None:
            several = self._transform(Columns([found]))
            return {name: values[0] for name, values in several.items()}
        return found

    @property
    def column_names(self) -> list[str]:
        """Of the columns that are known."""
        return [*(self._columns or self._rows[0])] if self._rows else []

    @property
    def features(self) -> Any:
        """What is asked of a column of classes."""
        return {n: ClassLabel() for n in self.column_names} if self._rows else {}

    def _with(self, rows: list[dict[str, Any]]) -> "Dataset":
        found = type(self)(rows, self._form, self._columns)
        found._transform = self._transform
        return found

    def map(
        self, function: Any = None, batched: bool = False, remove_columns: Any = None, **more: Any
    ) -> "Dataset":
        """Put through the program's function."""
        removed = {remove_columns} if isinstance(remove_columns, str) else {*(remove_columns or ())}
        removed |= {"text"} if removed else set()  # the program named the columns that it knows
        given = more.get("fn_kwargs") or {}
        indices = more.get("with_indices")
        if batched:
            all_rows = Columns(self._rows)
            made = (
                function(all_rows, **given)
                if not indices
                else function(all_rows, [*range(len(self))], **given)
            )
            count = len(next(iter(made.values()), []))
            kept = self._rows if count == len(self._rows) else [{}] * count
        else:
            each = [
                function(r, n, **given) if indices else function(r, **given)
                for n, r in enumerate(self._rows)
            ]
            made = {name: [e[name] for e in each] for name in (each[0] or {})} if each else {}
            kept = self._rows
        rows: list[dict[str, Any]] = []
        for n, row in enumerate(kept):
            left = {k: v for k, v in row.items() if k not in removed}
            rows.append({**left, **{name: values[n] for name, values in made.items()}})
        return Dataset(rows, self._form)

    def filter(self, function: Any, *_: Any, **__: Any) -> "Dataset":
        """Rows that the program wants, or all where it wants none."""
        return self._with([row for row in self._rows if function(row)] or self._rows)

    def select(self, places: Iterable[int], **_: Any) -> "Dataset":
        """Some rows."""
        return self._with([self._rows[n] for n in places if n < len(self._rows)])

    def take(self, count: int) -> "Dataset":
        """The first rows."""
        return self._with(self._rows[:count])

    def shuffle(self, *_: Any, **__: Any) -> "Dataset":
        """In another order."""
        rows = [*self._rows]
        random.Random(0).shuffle(rows)
        return self._with(rows)

    def shard(self, num_shards: int, index: int, **_: Any) -> "Dataset":
        """One part of several."""
        return self._with(self._rows[index::num_shards])

    def train_test_split(self, test_size: Any = 0.1, **_: Any) -> "DatasetDict":
        """Two parts."""
        size = test_size if isinstance(test_size, int) else max(1, round(len(self) * test_size))
        return DatasetDict(
            train=self._with(self._rows[:-size]), test=self._with(self._rows[-size:])
        )

    def remove_columns(self, names: Any) -> "Dataset":
        """Without some columns."""
        gone = {names} if isinstance(names, str) else {*names}
        return self._with([{k: v for k, v in row.items() if k not in gone} for row in self._rows])

    def rename_column(self, old: str, new: str) -> "Dataset":
        """A column under another name."""
        return self._with(
            [{**{k: v for k, v in row.items() if k != old}, new: row[old]} for row in self._rows]
        )

    def rename_columns(self, names: dict[str, str]) -> "Dataset":
        """Several."""
        found = self
        for old, new in names.items():
            found = found.rename_column(old, new)
        return found

    def add_column(self, name: str, values: list[Any]) -> "Dataset":
        """One more."""
        return self._with([{**row, name: v} for row, v in zip(self._rows, values, strict=True)])

    def set_format(self, type: str | None = None, columns: Any = None, **_: Any) -> None:  # noqa: A002 - its signature
        """Tensors, and some columns only."""
        self._form, self._columns = type, columns

    def with_format(self, type: str | None = None, columns: Any = None, **_: Any) -> "Dataset":  # noqa: A002 - its signature
        """The same, in another table."""
        return Dataset(self._rows, type, columns)

    def set_transform(self, transform: Any, *_: Any, **__: Any) -> None:
        """What is done with rows when they are asked for."""
        self._transform = transform

    def with_transform(self, transform: Any, *_: Any, **__: Any) -> "Dataset":
        """The same, in another table."""
        found = self._with(self._rows)
        found._transform = transform
        return found

    def unique(self, column: str) -> list[Any]:
        """Its values."""
        return [*dict.fromkeys(self[column])]

    def cast_column(self, *_: Any) -> "Dataset":
        """The same."""
        return self


IterableDataset = Dataset


class DatasetDict(dict[str, Any]):
    """Several tables by name."""

    def __missing__(self, part: str) -> Dataset:
        return _made(part)

    column_names = property(lambda self: {name: table.column_names for name, table in self.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Dataset, name):
            raise AttributeError(name)

        def of_each(*args: Any, **kwargs: Any) -> Any:
            found = {part: getattr(table, name)(*args, **kwargs) for part, table in self.items()}
            return (
                DatasetDict(found) if all(isinstance(t, Dataset) for t in found.values()) else None
            )

        return of_each


class ClassLabel:
    """What is known of a column of classes."""

    num_classes, names = 2, ["no", "yes"]

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def int2str(self, number: int) -> str:
        """Of a class."""
        return self.names[number % 2]


Value = Features = Sequence = ClassLabel


def _made(part: str) -> Dataset:
    count = ROWS if part.startswith("train") else FEWER
    return Dataset([Row(n, {"text": _cell("text", n), "label": n % 2}) for n in range(count)])


def load_dataset(path: str = "", *_: Any, split: Any = None, **__: Any) -> Any:
    """Made-up rows instead of those of the hub."""
    lend(f"the data set {path}: rows by chance")
    if isinstance(split, list):
        return [_made(part) for part in split]
    if split is not None:
        return _made(str(split))
    return DatasetDict({part: _made(part) for part in ("train", "validation", "test")})


load_from_disk = load_dataset


def concatenate_datasets(tables: list[Dataset], **_: Any) -> Dataset:
    """One after another."""
    return Dataset([row for table in tables for row in table._rows])


def disable_progress_bar() -> None:
    """There is none."""


disable_progress_bars = disable_caching = disable_progress_bar


class utils:
    """``datasets.utils``."""

    class logging:
        """``datasets.utils.logging``."""

        set_verbosity_error = set_verbosity_warning = set_verbosity_info = staticmethod(
            disable_progress_bar
        )
