"""Tables of a hub: rows that have whatever column is asked for, a text or a class by its name."""

import random
import re
from collections import defaultdict
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import torch

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.torchvision import SETS, picture

ROWS, FEWER = 512, 64
"""How many rows there are, in the part to train on and in others."""

WORDS = [
    "the", "a", "of", "to", "and", "in", "model", "gradient", "step", "loss", "batch", "learns",
    "falls", "small", "large", "red", "green", "blue", "quick", "brown", "fox", "jumps", "over",
    "lazy", "dog", "never", "always", "sometimes",
]  # fmt: skip

CLASS = re.compile(r"(.*_)?labels?|target|class|category|intent|answer_?idx")
PICTURE = re.compile(r"image|img|picture|pixel_values")
TOKENS = re.compile(r"input_ids|ids")
TAGS, WORDS_OF_A_TEXT = re.compile(r"(.*_)?tags"), re.compile(r"tokens|words")
RATING = re.compile(r"(.*_)?(score|rating|stars?)s?")
CHAT = re.compile(r"messages|conversations?|chat|dialogs?|dialogues?|turns")
NUMBER = re.compile(r"idx|index|id|length")
FORM = (3, 32, 2)
"""Channels, size and classes of a set of which nothing is known: two fit whatever comes after them."""


def _cell(column: str, row: int, form: tuple[int, int, int] = FORM) -> Any:
    dice = random.Random(f"{column} {row}")
    channels, size, kinds = form
    for pattern, number in ((CLASS, row % kinds), (RATING, row % 5 + 1), (NUMBER, row)):
        if pattern.fullmatch(column):
            return number
    if (listed := _listed_in(column, row, dice)) is not None:
        return listed
    if column == "translation":
        return Row(row)  # a text by language
    if PICTURE.fullmatch(column):
        drawn = torch.Generator().manual_seed(row)
        pixels = torch.randint(0, 256, (channels, size, size), generator=drawn)
        return picture(pixels.to(torch.uint8))
    return " ".join(dice.choices(WORDS, k=dice.randrange(12, 40))) + "."


def _listed_in(column: str, row: int, dice: random.Random) -> list[Any] | None:
    """A cell that is a list: tokens, what was said, words and a tag for each."""
    if TOKENS.fullmatch(column):
        return [dice.randrange(1, 100) for _ in range(16)]
    if CHAT.fullmatch(column):
        said = [_cell(f"{column} {n}", row) for n in range(2)]
        names = ("user", "assistant")
        return [{"role": who, "content": what} for who, what in zip(names, said, strict=True)]
    many = range(8 + row % 8)
    if TAGS.fullmatch(column):
        return [dice.randrange(2) for _ in many]
    return [dice.choice(WORDS) for _ in many] if WORDS_OF_A_TEXT.fullmatch(column) else None


class Row(dict[str, Any]):
    """One row: a column that nobody has named yet is made up."""

    def __init__(self, number: int, form: tuple[int, int, int] = FORM) -> None:
        super().__init__(text=_cell("text", number), label=number % form[-1])
        self.number, self.form = number, form

    def __missing__(self, column: str) -> Any:
        return _cell(column, self.number, self.form)

    def __or__(self, more: Any) -> Any:
        """With further columns; any other is made up still."""
        found = Row(self.number, self.form)
        found.clear()
        found.update(self)
        found.update(more)
        return found


class Columns(dict[str, list[Any]]):
    """Several rows, by column."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows
        super().__init__({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})

    def __missing__(self, column: str) -> list[Any]:
        return [row[column] for row in self._rows]


class Dataset(torch.utils.data.Dataset[Any]):
    """A table."""

    def __init__(
        self, rows: list[dict[str, Any]], form: str | None = None, columns: Any = None
    ) -> None:
        self._rows, self._form, self._columns = rows, form, columns
        self._transform: Any = None

    @classmethod
    def from_dict(cls, given: dict[str, list[Any]], *_: Any, **__: Any) -> "Dataset":
        """Of columns that the program has."""
        values = zip(*given.values(), strict=True)
        return cls([dict(zip(given, row, strict=True)) for row in values])

    @classmethod
    def from_list(cls, given: Iterable[dict[str, Any]], *_: Any, **__: Any) -> "Dataset":
        """Of rows that the program has."""
        return cls([dict(row) for row in given])

    def __len__(self) -> int:
        return len(self._rows)

    num_rows = property(__len__)

    def __getitem__(self, key: Any) -> Any:
        """A row, some rows by column, or a column."""
        if isinstance(key, str):
            return [self._shown(row)[key] for row in self._rows]
        if isinstance(key, slice):
            return Columns([self._shown(row) for row in self._rows[key]])
        if isinstance(key, list | tuple | range):
            return Columns([self._shown(self._rows[int(n)]) for n in key])
        return self._shown(self._rows[int(key)])

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        found = row if self._columns is None else {name: row[name] for name in self._columns}
        if self._transform is not None:
            return {name: made[0] for name, made in self._transform(Columns([found])).items()}
        if self._form not in ("torch", "pt"):
            return found
        numbers = (int, float, list)
        return {n: torch.as_tensor(v) if isinstance(v, numbers) else v for n, v in found.items()}

    @property
    def column_names(self) -> list[str]:
        """Of the columns that are known."""
        return [*(self._columns or self._rows[0])] if self._rows else []

    @property
    def features(self) -> dict[str, Any]:
        """What is asked of a column of classes, or of lists of these."""
        kinds = getattr(self._rows[0], "form", FORM)[-1] if self._rows else 2
        names = ["no", "yes"] if kinds == 2 else [f"class {n}" for n in range(kinds)]
        known = SimpleNamespace(num_classes=kinds, names=names, int2str=lambda n: f"class {n}")
        known.feature = known
        return defaultdict(lambda: known, dict.fromkeys(self.column_names, known))

    def _with(self, rows: list[dict[str, Any]]) -> "Dataset":
        return Dataset(rows, self._form, self._columns)

    def map(
        self, function: Any = None, batched: bool = False, remove_columns: Any = None, **more: Any
    ) -> "Dataset":
        """Put through the program's function."""
        given = more.get("fn_kwargs") or {}
        if batched:
            made = function(Columns(self._rows), **given)
            each = [dict(zip(made, row, strict=True)) for row in zip(*made.values(), strict=True)]
        else:
            each = [function(row, **given) for row in self._rows]
        left = self if len(each) == len(self) else Dataset([{}] * len(each))
        if remove_columns:  # the program named the columns that it knows
            left = left.remove_columns([*_listed(remove_columns), "text"])
        return Dataset([row | new for row, new in zip(left._rows, each, strict=True)], self._form)

    def filter(self, function: Any, *_: Any, **__: Any) -> "Dataset":
        """Rows that the program wants, or all where it wants none."""
        return self._with([row for row in self._rows if function(row)] or self._rows)

    def select(self, places: Iterable[int], **_: Any) -> "Dataset":
        """Some rows."""
        return self._with([self._rows[n] for n in places if n < len(self._rows)])

    def shuffle(self, *_: Any, **__: Any) -> "Dataset":
        """In another order."""
        return self._with(random.Random(0).sample(self._rows, len(self)))

    def train_test_split(self, test_size: Any = 0.1, **_: Any) -> "DatasetDict":
        """Two parts."""
        size = test_size if isinstance(test_size, int) else max(1, round(len(self) * test_size))
        return DatasetDict(
            train=self._with(self._rows[:-size]), test=self._with(self._rows[-size:])
        )

    def remove_columns(self, names: Any) -> "Dataset":
        """Without some columns."""
        gone = {*_listed(names)}
        if gone - {*self.column_names}:  # columns of their own: there is no other text
            gone.add("text")
        left = [row | {} for row in self._rows]
        for row in left:
            for name in gone & row.keys():
                del row[name]
        return Dataset(left)

    def rename_column(self, old: str, new: str) -> "Dataset":
        """A column under another name."""
        return Dataset([row | {new: row[old]} for row in self._rows]).remove_columns(old)

    def rename_columns(self, names: dict[str, str]) -> "Dataset":
        """Several."""
        found = self
        for old, new in names.items():
            found = found.rename_column(old, new)
        return found

    def add_column(self, name: str, values: Iterable[Any], *_: Any, **__: Any) -> "Dataset":
        """One more."""
        pairs = zip(self._rows, values, strict=True)
        return self._with([row | {name: value} for row, value in pairs])

    def take(self, count: int) -> "Dataset":
        """The first."""
        return self._with(self._rows[:count])

    def skip(self, count: int) -> "Dataset":
        """The others."""
        return self._with(self._rows[count:] or self._rows)

    def _itself(self, *_: Any, **__: Any) -> "Dataset":
        """A cell tells its type by its column's name."""
        return self

    flatten = cast = cast_column = class_encode_column = sort = shard = flatten_indices = _itself

    def set_format(self, type: str | None = None, columns: Any = None, **_: Any) -> None:  # noqa: A002 - its signature
        """Tensors, and some columns only."""
        self._form, self._columns = type, columns

    def set_transform(self, transform: Any, *_: Any, **__: Any) -> None:
        """Rows are put through it when they are taken."""
        self._transform = transform

    def with_transform(self, transform: Any, *_: Any, **__: Any) -> "Dataset":
        """The same, in another table."""
        found = self._with(self._rows)
        found._transform = transform
        return found

    def with_format(self, type: str | None = None, columns: Any = None, **_: Any) -> "Dataset":  # noqa: A002 - its signature
        """The same, in another table."""
        return Dataset(self._rows, type, columns)


class DatasetDict(dict[str, Any]):
    """Several tables by name."""

    def __missing__(self, part: str) -> Dataset:
        return _made(part)

    column_names = property(lambda self: {name: table.column_names for name, table in self.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Dataset, name):
            raise AttributeError(name)
        return lambda *args, **kwargs: DatasetDict(
            {part: getattr(table, name)(*args, **kwargs) for part, table in self.items()}
        )


Features = dict
"""Which columns there are: any that is asked for."""


def Value(*_: Any, **__: Any) -> None:
    """Of which type: a column's name tells that."""


ClassLabel = Sequence = Image = Value


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else [*names]


def _made(part: str, form: tuple[int, int, int] = FORM) -> Dataset:
    return Dataset([Row(n, form) for n in range(ROWS if part.startswith("train") else FEWER)])


def load_dataset(path: str = "", *_: Any, split: Any = None, **__: Any) -> Any:
    """Made-up rows instead of those of the hub."""
    lend(f"the data set {path}: rows by chance")
    last = re.sub(r"[^a-z0-9]", "", path.rpartition("/")[2].lower())
    form = next((SETS[name] for name in SETS if name.lower() == last), FORM)
    if isinstance(split, list):
        return [_made(part, form) for part in split]
    if split is not None:
        return _made(str(split), form)
    return DatasetDict({part: _made(part, form) for part in ("train", "validation", "test")})


load_from_disk = load_dataset


def concatenate_datasets(tables: list[Dataset], **_: Any) -> Dataset:
    """One after another."""
    return Dataset([row for table in tables for row in table._rows])
