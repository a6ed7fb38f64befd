"""A gradient as one vector that knows which stretch belongs to which parameter."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from harness.oracle.facts import Parameters


@dataclass(frozen=True, slots=True)
class Gradient:
    """Gradients of several parameters, end to end, in double precision."""

    names: tuple[str, ...]
    """Parameters, in order."""
    sizes: tuple[int, ...]
    """Elements of each."""
    flat: Tensor
    """All elements. (sum of sizes,)"""

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        """From values by name, in that order."""
        if not parameters:
            return cls((), (), torch.zeros(0, dtype=torch.float64))
        flat = torch.cat([value.reshape(-1) for value in parameters.values()]).double()
        return cls(tuple(parameters), tuple(v.numel() for v in parameters.values()), flat)

    @property
    def norm(self) -> float:
        """Global L2 norm."""
        return float(torch.linalg.vector_norm(self.flat))

    def only(self, names: Collection[str]) -> Self:
        """Restricted to some of the parameters."""
        if len(names) >= len(self.names) and all(n in names for n in self.names):
            return self
        kept = [(n, part) for n, part in self.parts() if n in names]
        return type(self).of(dict(kept))

    def on(self, names: tuple[str, ...]) -> Self:
        """These parameters, in this order; those that it does not hold are left out.

        Two gradients compared element by element have to be in one order: an optimizer with groups
        lists parameters in another order than the model does.
        """
        if names == self.names:
            return self
        mine = dict(self.parts())
        return type(self).of({n: mine[n] for n in names if n in mine})

    def scaled(self, factor: float) -> Self:
        """``factor`` times this."""
        return self.with_elements(self.flat * factor)

    def norms(self) -> tuple[float, ...]:
        """Norm of each parameter's stretch."""
        return tuple(math.sqrt(x) for x in self.dots(self))

    def dots(self, other: "Gradient") -> tuple[float, ...]:
        """Inner product with ``other`` (same parameters), by parameter."""
        if not self.sizes:
            return ()
        lengths = torch.tensor(self.sizes)
        products = (self.flat * other.flat).contiguous()
        return tuple(torch.segment_reduce(products, "sum", lengths=lengths).tolist())

    def spread(self, factors: Iterable[float]) -> Self:
        """Each parameter's stretch times a factor of its own."""
        repeated = torch.tensor(list(factors), dtype=torch.float64)
        return self.with_elements(self.flat * repeated.repeat_interleave(torch.tensor(self.sizes)))

    def minus(self, other: "Gradient") -> Self:
        """Difference to ``other`` (same parameters)."""
        return self.with_elements(self.flat - other.flat)

    def parts(self) -> Iterable[tuple[str, Tensor]]:
        """Each parameter's name and stretch."""
        return zip(self.names, self.flat.split(list(self.sizes)), strict=True)

    def with_elements(self, flat: Tensor) -> Self:
        """The same parameters with other elements."""
        return type(self)(self.names, self.sizes, flat)


def total(parts: Iterable[Gradient]) -> Gradient:
    """Sum of gradients. Where they hold different parameters, absent ones count as zero."""
    gradients = list(parts)
    if not gradients:
        return Gradient.of({})
    if all(g.names == gradients[0].names for g in gradients):
        return gradients[0].with_elements(torch.stack([g.flat for g in gradients]).sum(dim=0))
    values: Parameters = {}
    for gradient in gradients:
        for name, part in gradient.parts():
            values[name] = values[name] + part if name in values else part
    return Gradient.of(values)
