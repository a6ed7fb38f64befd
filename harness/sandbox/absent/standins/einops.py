"""``einops``: axes of a tensor moved, joined, split, summed and repeated by a pattern of their names."""

import re
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

AXES = re.compile(r"\([^)]*\)|\S+")
"""Axes of one side of a pattern; those in brackets are one axis of the tensor."""

REDUCTIONS: dict[str, Any] = {
    "mean": torch.mean, "sum": torch.sum, "max": torch.amax, "min": torch.amin,
}  # fmt: skip


def _axes(side: str, dots: list[str]) -> list[list[str]]:
    """Each axis as the names that it is made of; ``dots``: what an ellipsis stands for."""
    found: list[list[str]] = []
    for axis in AXES.findall(side):
        if axis == "...":
            found += [[name] for name in dots]
            continue
        names = axis.strip("()").split()
        found.append([n for one in names for n in (dots if one == "..." else [one]) if n != "1"])
    return found


def _sizes(axes: list[list[str]], shape: Any, given: dict[str, int]) -> dict[str, int]:
    """The size of each name."""
    known = dict(given)
    for names, size in zip(axes, shape, strict=True):
        unknown = [name for name in names if name not in known]
        if len(unknown) == 1:
            known[unknown[0]] = size // prod(known[n] for n in names if n != unknown[0])
        if prod(known[name] for name in names) != size:
            raise ValueError(f"an axis of {size} is not {names} of {known}")
    return known


def reduce(tensor: Any, pattern: str, reduction: str | None, **sizes: int) -> Any:
    """Of the axes that are missing on the right their mean, sum or largest; new ones are repeated."""
    if isinstance(tensor, np.ndarray):
        return reduce(torch.as_tensor(tensor), pattern, reduction, **sizes).numpy()
    x: Tensor = torch.stack([*tensor]) if isinstance(tensor, list | tuple) else tensor
    before, after = pattern.split("->")
    dots = [f".{n}" for n in range(x.ndim - len(_axes(before, [])))]
    left, right = _axes(before, dots), _axes(after, dots)
    known = _sizes(left, x.shape, sizes)
    flat, wanted = [n for a in left for n in a], [n for a in right for n in a]
    x = x.reshape([known[n] for n in flat])
    if gone := [n for n, name in enumerate(flat) if name not in wanted]:
        if reduction is None:
            raise ValueError(f"{pattern}: an axis is gone")
        x = REDUCTIONS[reduction](x, dim=tuple(gone))
    kept = [name for name in flat if name in wanted]
    x = x.permute([kept.index(name) for name in wanted if name in kept])
    for place in [n for n, name in enumerate(wanted) if name not in kept]:
        x = x.unsqueeze(place)
    x = x.expand([known[n] for n in wanted])
    return x.reshape([prod(known[n] for n in names) for names in right])


def rearrange(tensor: Any, pattern: str, **sizes: int) -> Any:
    """Axes in another order, joined or split."""
    return reduce(tensor, pattern, None, **sizes)


repeat = rearrange


def einsum(*given: Any) -> Tensor:
    """``torch.einsum`` with words for letters; the pattern comes last."""
    *tensors, pattern = given
    letters = "abcdefghijklmnopqrstuvwxyz"
    names: dict[str, str] = {}
    found = re.sub(r"\w+", lambda m: names.setdefault(m[0], letters[len(names)]), pattern)
    return torch.einsum(found.replace(" ", ""), *tensors)


class _Layer(nn.Module):
    """One of these as a layer, with all but the tensor given before."""

    function: Any = staticmethod(rearrange)

    def __init__(self, *given: Any, **sizes: int) -> None:
        super().__init__()
        self.given, self.sizes = given, sizes

    def forward(self, tensor: Tensor) -> Any:
        """Put it through."""
        return self.function(tensor, *self.given, **self.sizes)


class layers:
    """``einops.layers``."""

    class torch:
        """``einops.layers.torch``."""

        Rearrange = type("Rearrange", (_Layer,), {})
        Reduce = type("Reduce", (_Layer,), {"function": staticmethod(reduce)})
