"""``rearrange``, ``repeat`` and ``reduce``, by reshape, permute and expand."""

import math
import re
from typing import Any

import torch
from torch import Tensor, nn

Axes = list[list[str]]


def _axes(pattern: str) -> Axes:
    """``b (h p) 1`` -> ``[[b], [h, p], []]``"""
    found = re.findall(r"\(([^)]*)\)|(\.\.\.)|([^\s()]+)", pattern)
    return [
        ["..."] if dots else [n for n in (group.split() if not one else [one]) if n != "1"]
        for group, dots, one in found
    ]


def _spread(axes: Axes, extra: int) -> Axes:
    """Several axes for the dots."""
    own = [[f"...{n}"] for n in range(extra)]
    return [a for axis in axes for a in (own if axis == ["..."] else [axis])]


def _apart(x: Tensor, axes: Axes, known: dict[str, int]) -> tuple[Tensor, dict[str, int]]:
    """With an axis for each name, and the size of each."""
    sizes = dict(known)
    for size, names in zip(x.shape, axes, strict=True):
        unknown = [n for n in names if n not in sizes]
        if len(unknown) == 1:
            sizes[unknown[0]] = size // math.prod(sizes[n] for n in names if n in sizes)
    return x.reshape([sizes[n] for names in axes for n in names]), sizes


def _done(x: Any, pattern: str, known: dict[str, int], how: str | None) -> Any:
    if isinstance(x, list | tuple):
        x = torch.stack([*x])
    left, right = (_axes(side) for side in pattern.split("->"))
    extra = x.ndim - (len(left) - 1) if ["..."] in left else 0
    left, right = _spread(left, extra), _spread(right, extra)
    x, sizes = _apart(x, left, known)
    order = [n for names in left for n in names]
    wanted = [n for names in right for n in names]
    gone = [order.index(n) for n in order if n not in wanted]
    if gone:
        x = getattr(torch, {"max": "amax", "min": "amin"}.get(str(how), str(how)))(x, gone)
        order = [n for n in order if n in wanted]
    x = x.permute([order.index(n) for n in wanted if n in order])
    for place, name in enumerate(wanted):
        if name not in order:
            x = x.unsqueeze(place)
    x = x.expand([sizes[n] for n in wanted])
    return x.reshape([math.prod(sizes[n] for n in names) for names in right])


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """``rearrange(x, "b (h p) -> b h p", p=4)``"""
    return _done(tensor, pattern, axes_lengths, None)


def repeat(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """``repeat(x, "n d -> b n d", b=4)``"""
    return _done(tensor, pattern, axes_lengths, None)


def reduce(tensor: Any, pattern: str, reduction: str, **axes_lengths: int) -> Any:
    """``reduce(x, "b c h w -> b c", "mean")``"""
    return _done(tensor, pattern, axes_lengths, reduction)


class layers:
    """``einops.layers``."""

    class torch:
        """``einops.layers.torch``."""

        class Rearrange(nn.Module):
            """As a layer."""

            def __init__(self, pattern: str, **axes_lengths: int) -> None:
                super().__init__()
                self.pattern, self.lengths = pattern, axes_lengths

            def forward(self, x: Tensor) -> Any:
                """Rearranged."""
                return rearrange(x, self.pattern, **self.lengths)

        class Reduce(nn.Module):
            """As a layer."""

            def __init__(self, pattern: str, reduction: str, **axes_lengths: int) -> None:
                super().__init__()
                self.pattern, self.reduction, self.lengths = pattern, reduction, axes_lengths

            def forward(self, x: Tensor) -> Any:
                """Reduced."""
                return reduce(x, self.pattern, self.reduction, **self.lengths)
