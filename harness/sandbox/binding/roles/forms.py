"""What a batch looks like to a program: a tensor, a tuple, a dict, an object, or these nested."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

from torch import Tensor

Part = Literal["input", "target", "mask", "index", "count", "nothing"]
"""What one leaf of a batch contains."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of a batch."""

    part: Part
    """What it contains."""

    def build(self, values: Mapping[Part, Any]) -> Any:
        """The value itself."""
        return values[self.part]

    def parts(self) -> set[Part]:
        """All leaves under it."""
        return {self.part}

    def __str__(self) -> str:
        return self.part


@dataclass(frozen=True, slots=True)
class Row:
    """A tuple or a list."""

    forms: "tuple[Form, ...]"
    """Its elements."""
    mutable: bool = False
    """Whether the program needs a list instead of a tuple."""

    def build(self, values: Mapping[Part, Any]) -> Any:
        """A plain tuple or list."""
        found = [form.build(values) for form in self.forms]
        return found if self.mutable else tuple(found)

    def parts(self) -> set[Part]:
        """All leaves under it."""
        return {part for form in self.forms for part in form.parts()}

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.forms))
        return f"[{inside}]" if self.mutable else f"({inside},)"


@dataclass(frozen=True, slots=True)
class Table:
    """A dict."""

    forms: "tuple[tuple[str, Form], ...]"
    """Its values by key."""
    movable: bool = False
    """Whether the program moves it to a device as a whole, like batches of tokenizers."""

    def build(self, values: Mapping[Part, Any]) -> Any:
        """A plain dict, or one with ``to``."""
        found = {key: form.build(values) for key, form in self.forms}
        return MovableDict(found) if self.movable else found

    def parts(self) -> set[Part]:
        """All leaves under it."""
        return {part for _, form in self.forms for part in form.parts()}

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {form}" for key, form in self.forms) + "}"


@dataclass(frozen=True, slots=True)
class Thing:
    """An object with attributes."""

    forms: "tuple[tuple[str, Form], ...]"
    """Its attributes."""

    def build(self, values: Mapping[Part, Any]) -> Any:
        """A namespace that can be moved to a device."""
        return MovableObject(**{key: form.build(values) for key, form in self.forms})

    def parts(self) -> set[Part]:
        """All leaves under it."""
        return {part for _, form in self.forms for part in form.parts()}

    def __str__(self) -> str:
        return f"SimpleNamespace({', '.join(f'{key}={form}' for key, form in self.forms)})"


@dataclass(frozen=True, slots=True)
class Each:
    """A list with one dict for each sample."""

    key: str
    """The only key of each dict."""
    part: Part
    """What is under it."""

    def build(self, values: Mapping[Part, Any]) -> Any:
        """A plain list of plain dicts."""
        return [{self.key: row} for row in values[self.part]]

    def parts(self) -> set[Part]:
        """All leaves under it."""
        return {self.part}

    def __str__(self) -> str:
        return f"[{{{self.key!r}: {self.part}}}, ...]"


Form = Leaf | Row | Table | Thing | Each


class MovableDict(dict[str, Any]):
    """A dict whose tensors move together and can be read as attributes."""

    def to(self, *_: Any, **__: Any) -> "MovableDict":
        """Stay on the CPU."""
        return self

    cuda = pin_memory = to

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class MovableObject(SimpleNamespace):
    """An object whose tensors move together."""

    def to(self, *_: Any, **__: Any) -> "MovableObject":
        """Stay on the CPU."""
        return self

    cuda = cpu = pin_memory = to

    def __iter__(self) -> Any:
        return iter(vars(self).values())

    def __len__(self) -> int:
        first = next(iter(vars(self).values()))
        return len(first) if isinstance(first, Tensor) else 1
