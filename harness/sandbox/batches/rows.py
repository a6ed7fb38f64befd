"""Batches as programs take them apart: one object that is a tuple, a mapping and a tensor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch

from harness.sandbox.batches.callers import unpacked_into
from harness.sandbox.names.table import Table

BatchParts = Mapping[str, Any]
"""``input``, ``target``, ``mask``, ``index``, ``count``, ``nothing``: the values of one batch."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How one program takes batches apart."""

    rows: Mapping[int, tuple[str, ...]]
    """The order of the parts, by how many there are."""
    keys: tuple[str, ...]
    """Texts by which it asks for parts."""
    table: Table
    """Says which part an attribute or a key means."""
    input_name: str = "input_ids"
    """What the model calls its inputs."""
    whole: bool = False
    """Whether an element of its loader is the inputs alone."""
    mapping: bool = False
    """Whether it is a mapping and nothing else."""
    fits: bool = False
    """Whether what is lent is made to fit: a part that no name tells is like the inputs."""

    @property
    def usual(self) -> tuple[str, ...]:
        """The parts in order, where nobody says how many there are."""
        return self.rows[max(self.rows)] if self.rows else ("input", "target")

    def build(self, parts: BatchParts) -> Any:
        """One element of the loader."""
        if self.whole:
            return parts["input"]
        if self.mapping:
            return Mapped({key: self.value(parts, key) for key in self.all_keys})
        return LentBatch(parts, self)

    def value(self, parts: BatchParts, key: str) -> Any:
        """What lies under a key: where no name tells what it means, one number a row, or the inputs
        where these are made to fit.
        """
        part, inputs = self.part(key), parts["input"]
        known = part != "nothing" and part in parts
        if known or not isinstance(inputs, torch.Tensor) or inputs.dim() < 2:
            return parts[part]
        return inputs if self.fits else numbers_of(inputs)

    def part(self, key: str) -> str:
        """The part that a key means; what comes out is the target, in a batch."""
        part = self.table.part(key) or "nothing"
        return "target" if part == "output" else part

    @property
    def all_keys(self) -> tuple[str, ...]:
        """Those that the program asks for, and what it hands on as a whole."""
        there = {self.part(key) for key in self.keys}
        inputs = () if "input" in there else (self.input_name,)
        return (*inputs, *self.keys, *(() if "target" in there else ("labels",)))

    def __str__(self) -> str:
        if self.whole:
            return "input"
        if self.mapping:
            return "{" + ", ".join(f"{k!r}: {self.table.part(k)}" for k in self.all_keys) + "}"
        return f"({', '.join(self.usual)})"


USUAL = {3: ("input", "target", "mask"), 4: ("input", "target", "mask", "index")}
"""Orders of batches that are taken apart into more than two, where no name tells."""


OF_GRAPHS: Mapping[str, Callable[[int], Any]] = {
    "batch": torch.arange,
    "adj": torch.eye,
    "adj_t": torch.eye,
    "pos": lambda n: torch.ones(n, 3),
    "edge_index": lambda n: torch.arange(n).repeat(2, 1),
    "edge_attr": lambda n: torch.ones(n, 1),
    "edge_weight": torch.ones,
    "num_graphs": int,
    "num_nodes": int,
}
"""What a batch of ``n`` graphs is asked for beside its features and targets: each is one node with an
edge to itself.
"""


class Mapped(dict[str, Any]):
    """A dict whose tensors move together and can be read as attributes."""

    def to(self, *_: Any, **__: Any) -> Self:
        """Stay on the CPU."""
        return self

    cuda = pin_memory = to

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class LentBatch(tuple[Any, ...]):  # noqa: SLOT001 - it carries its parts
    """One batch: unpacked as the program does it, read by key or attribute, or used as its inputs."""

    parts: BatchParts
    _shape: Shape

    def __new__(cls, parts: Any, shape: Shape | None = None) -> Any:
        """``parts``: the values; ``shape``: how they are taken apart. A copy made of values alone, as
        libraries make one, is a plain tuple.
        """
        if shape is None:
            return tuple(parts)
        made = super().__new__(cls, [parts[p] for p in shape.usual])
        vars(made).update(parts=parts, _shape=shape)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """What is copied or sent to another rank stays a row."""
        return LentBatch, (dict(self.parts), self._shape)

    def __iter__(self) -> Iterator[Any]:
        count = unpacked_into(1) or 0
        order = self._shape.rows.get(count) or USUAL.get(count)
        return tuple.__iter__(self) if order is None else iter([self.parts[p] for p in order])

    def __getitem__(self, key: Any) -> Any:
        return self._under(key) if isinstance(key, str) else tuple.__getitem__(self, key)

    def _under(self, key: str) -> Any:
        """What lies under a key: where no name tells what it means, one number a row."""
        try:
            return self._named(key)
        except KeyError:
            return self._shape.value(self.parts, key)

    def _named(self, name: str) -> Any:
        part = self._shape.part(name)
        if part == "batch":
            return self
        if part != "nothing" and part in self.parts:
            return self.parts[part]
        if self._shape.fits and not hasattr(self.parts["input"], name):
            return self.parts["input"]
        raise KeyError(name)

    def keys(self) -> Sequence[str]:
        """Lets ``**batch``, ``dict(batch)`` and ``batch.items()`` work."""
        return self._shape.all_keys

    def __contains__(self, key: object) -> bool:
        return key in self.keys() if isinstance(key, str) else tuple.__contains__(self, key)

    def items(self) -> Any:
        """Like a dict's."""
        return {key: self[key] for key in self.keys()}.items()

    def values(self) -> Any:
        """Like a dict's."""
        return [self[key] for key in self.keys()]

    def get(self, key: str, default: Any = None) -> Any:
        """Like a dict's."""
        try:
            return self._named(key)
        except KeyError:
            return default

    pop = get

    def to(self, *_: Any, **__: Any) -> Self:
        """Stay on the CPU."""
        return self

    cuda = cpu = pin_memory = to

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in OF_GRAPHS:
            return OF_GRAPHS[name](len(self.parts["input"]))
        try:
            return self._named(name)
        except KeyError:
            return getattr(self.parts["input"], name)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """To torch it is its inputs."""
        given = {name: plain(value) for name, value in (kwargs or {}).items()}
        return func(*[plain(value) for value in args], **given)


def numbers_of(inputs: torch.Tensor) -> torch.Tensor:
    """One number a row, between -1 and 1. (n, ...) -> (n,)"""
    return torch.tanh(inputs.float().flatten(1).sum(1))


def plain(value: Any) -> Any:
    """The inputs of a batch; anything else as it is."""
    if isinstance(value, LentBatch):
        return value.parts["input"]
    if isinstance(value, list | tuple) and any(isinstance(v, LentBatch) for v in value):
        return type(value)([plain(v) for v in value])
    return value
