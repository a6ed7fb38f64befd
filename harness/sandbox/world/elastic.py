"""What is lent is made to fit: rows are stretched or cut, targets become classes, indices wrap around.

A loop that is pasted alone goes over data, and calls models, that only its reader has. What shapes
they have says nothing about how it clears, goes backward, clips and steps, which is what is judged.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from harness.sandbox.world.spies import Spy

Fit = Callable[[list[Any], dict[str, Any]], Any]
"""Changes the arguments of a call that was refused; what it returns, if anything, is the result."""

MISFIT = (RuntimeError, ValueError, IndexError, TypeError)
"""What torch raises where shapes or types do not fit."""

MOST_DIMS = 5

CLASSES, SPOKEN = 6, 3
"""Symbols and length of a spoken text."""


class Elastic(TorchFunctionMode):
    """Calls of torch as they are; one that is refused is made once more with arguments that fit."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Nothing is changed that is not refused."""
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except MISFIT:
            if "backward" in func.__name__:
                raise
            given, named = [*args], dict(kwargs)
            for fit in _fits_of(func.__name__.strip("_")):
                try:
                    found = fit(given, named)
                    return func(*given, **named) if found is None else found
                except MISFIT:
                    continue
            raise


def stretched(value: Tensor, shape: Sequence[int]) -> Tensor:
    """The same numbers over and over, or the first of them, in another shape."""
    count = math.prod(shape)
    flat = value.reshape(-1)
    if not len(flat):
        return value.new_zeros(*shape)
    return flat.repeat(-(-count // len(flat)))[:count].reshape(*shape)


def rows_like(value: Any, rows: Tensor) -> Any:
    """As many rows as there are, as wide as those of a model's own data."""
    if not isinstance(value, Tensor):
        return rows
    value = value if value.dim() else value.reshape(1)
    return stretched_rows(value.float(), rows.shape[1])


def stretched_rows(value: Tensor, width: int) -> Tensor:
    """Each row by itself in another width."""
    flat = value.reshape(len(value), -1)
    return flat.repeat(1, -(-width // max(1, flat.shape[1])))[:, :width]


def _fits_of(name: str) -> Iterator[Fit]:
    yield _numbers
    if name in FITS:
        yield FITS[name]
    if name != "getitem":
        yield _alike
        yield _dimensions


def _tensors(given: list[Any]) -> list[int]:
    return [n for n, one in enumerate(given) if isinstance(one, Tensor)]


def _sounds(given: list[Any], named: dict[str, Any]) -> Tensor:
    """Outputs over time, and texts that are shorter than these; the lengths of all."""
    value = given[0].float()
    value = value if value.dim() == 3 else stretched(value, (len(value) or 1, 1, CLASSES))
    over = stretched(value, (max(len(value), 2 * SPOKEN), *value.shape[1:])).log_softmax(-1)
    target = given[1] if isinstance(given[1], Tensor) else value.detach()
    texts = stretched(target, (over.shape[1], SPOKEN)).long().abs()
    texts = texts.remainder(max(1, over.shape[2] - 1)) + 1
    heard, said = (torch.full((over.shape[1],), n) for n in (len(over), SPOKEN))
    mean = torch.nn.functional.ctc_loss(over, texts, heard, said)
    return mean * over.shape[1] if named.get("reduction") == "sum" else mean


def _shares(given: list[Any], named: dict[str, Any]) -> None:
    """Outputs between 0 and 1, and targets that are 0 or 1."""
    if "weight" in named or "pos_weight" in named:
        named.update(dict.fromkeys(({"weight", "pos_weight"} & {*named}), None))
    low, high = given[0].min(), given[0].max()
    del given[2:]
    target = given[1] if len(given) > 1 else named["target"]
    fitted = (stretched(target, given[0].shape) > 0).to(given[0].dtype)
    if len(given) > 1:
        given[1] = fitted
    else:
        named["target"] = fitted
    if low < 0 or high > 1:
        given[0] = given[0].sigmoid()


def _widths(given: list[Any], _: dict[str, Any]) -> None:
    """Factors whose inner sizes differ."""
    value, other = given[0], given[1]
    layer = other.dim() == 2 and len(given) == 3
    inner = other.shape[-1] if layer else other.shape[-2 if other.dim() > 1 else -1]
    value = value.float() if not value.is_floating_point() else value
    value = value if value.dim() else value.reshape(1, 1)
    parts = value.repeat(*[1] * (value.dim() - 1), -(-inner // value.shape[-1]))
    given[0] = parts[..., :inner]


def _shape(given: list[Any], _: dict[str, Any]) -> Tensor:
    """Another number of elements than there are."""
    value, sizes = given[0], given[1:]
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = [*sizes[0]]
    known = [max(1, int(size)) for size in sizes if int(size) != -1]
    rest = max(1, value.numel() // math.prod(known))
    return stretched(value, [rest if int(size) == -1 else max(1, int(size)) for size in sizes])


def _index(given: list[Any], _: dict[str, Any]) -> None:
    """Too many indices, or too large ones."""
    value = given[0]
    index = given[1] if isinstance(given[1], tuple) else (given[1],)
    if not value.dim():
        raise IndexError(index)
    places = zip(index, value.shape, strict=False)
    given[1] = tuple(_within(one, size) for one, size in places)


def _within(index: Any, size: int) -> Any:
    """An index that there is."""
    match index:
        case slice():
            ends = (index.start, index.stop, index.step)
            return slice(*(None if at is None else int(at) for at in ends))
        case Tensor():
            return index.long().remainder(size)
    return index


def _joined(given: list[Any], named: dict[str, Any]) -> None:
    """Parts of different shapes."""
    parts = [one for one in given[0] if isinstance(one, Tensor)]
    first = max(parts, key=lambda part: part.dim())
    given[0] = [
        part if part.dim() == first.dim() and part.shape == first.shape
        else stretched(part, first.shape).to(first.dtype)
        for part in parts
    ]  # fmt: skip


def _one(given: list[Any], _: dict[str, Any]) -> Any:
    """One number of many."""
    return given[0].detach().reshape(-1)[:1].tolist()[0]


def _any(given: list[Any], _: dict[str, Any]) -> bool:
    return bool(given[0].any())


def _numbers(given: list[Any], named: dict[str, Any]) -> None:
    """Settings that are numbers."""
    if not any(isinstance(one, Spy) for one in (*given, *named.values())):
        raise TypeError(given)
    given[:] = [1 if isinstance(one, Spy) else one for one in given]
    named.update({name: 1 for name, one in named.items() if isinstance(one, Spy)})


def _alike(given: list[Any], _: dict[str, Any]) -> None:
    """Operands of one shape: that of the first."""
    places = _tensors(given)
    first = given[places[0]]
    for place in places[1:]:
        given[place] = stretched(given[place], first.shape)


def _dimensions(given: list[Any], _: dict[str, Any]) -> None:
    """More dimensions than there are."""
    value = given[_tensors(given)[0]]
    if value.dim() >= MOST_DIMS:
        raise ValueError(value.dim())
    asked = [n for one in given[1:] for n in (one if isinstance(one, tuple | list) else [one])]
    wanted = max(
        [n + 1 for n in asked if isinstance(n, int)] + [-n for n in asked if isinstance(n, int)]
    )
    given[0] = value.reshape(*value.shape, *[1] * (min(wanted, MOST_DIMS) - value.dim()))


_OF: tuple[tuple[Fit, tuple[str, ...]], ...] = (
    (_sounds, ("ctc_loss",)),
    (_shares, ("binary_cross_entropy", "binary_cross_entropy_with_logits")),
    (_widths, ("linear", "matmul", "mm", "bmm", "rmatmul")),
    (_shape, ("view", "reshape", "expand", "unflatten")),
    (_index, ("getitem",)),
    (_joined, ("cat", "stack", "concat")),
    (_one, ("item", "float", "int", "index")),
    (_any, ("bool",)),
)
FITS = {name: fit for fit, names in _OF for name in names}
"""What fits the arguments of a function, by its name."""
