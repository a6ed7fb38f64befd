"""A gradient as one vector that knows which stretch belongs to which parameter."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from typing import Self

import numpy as np

from harness.oracle.facts import Array
from harness.oracle.recent import digest


@dataclass(frozen=True)  # no slots: a norm is kept once it was asked for
class Gradient:
    """Gradients of several parameters, end to end, in double precision."""

    names: tuple[str, ...]
    """Parameters, in order."""
    sizes: tuple[int, ...]
    """Elements of each."""
    flat: Array
    """All elements. (sum of sizes,)"""

    @classmethod
    def of(cls, parameters: Mapping[str, Array]) -> Self:
        """From values by name, in that order."""
        sizes = tuple(value.size for value in parameters.values())
        return cls(tuple(parameters), sizes, end_to_end([*parameters.values()]))

    @cached_property
    def norm(self) -> float:
        """Global L2 norm."""
        return norm(self.flat)

    @cached_property
    def norms(self) -> tuple[float, ...]:
        """Norm of each parameter's stretch."""
        return tuple(math.sqrt(x) for x in self.dots(self))

    @cached_property
    def digest(self) -> bytes:
        """Of names, sizes and elements."""
        return digest(repr((self.names, self.sizes)).encode(), [self.flat])

    @property
    def is_finite(self) -> bool:
        """Whether no element is infinite or NaN."""
        return bool(np.isfinite(self.flat).all())

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

    def among(self, whole: Self) -> Self:
        """On the parameters of another gradient; zeros where it does not reach them."""
        mine = self.on(whole.names)
        if mine.sizes == whole.sizes:
            return mine
        found = dict(mine.parts())
        parts = whole.parts()
        return type(self).of(
            {
                n: found[n] if n in found and found[n].size == p.size else np.zeros_like(p)
                for n, p in parts
            }
        )

    def scaled(self, factor: float) -> Self:
        """``factor`` times this."""
        return self.with_elements(self.flat * factor)

    def dots(self, other: "Gradient") -> tuple[float, ...]:
        """Inner product with ``other`` (same parameters), by parameter."""
        return tuple(sums(self.flat * other.flat, self.sizes).tolist())

    def spread(self, factors: Iterable[float]) -> Self:
        """Each parameter's stretch times a factor of its own."""
        return self.with_elements(self.flat * np.repeat([*factors], self.sizes))

    def minus(self, other: "Gradient") -> Self:
        """Difference to ``other`` (same parameters)."""
        return self.with_elements(self.flat - other.flat)

    def parts(self) -> Iterable[tuple[str, Array]]:
        """Each parameter's name and stretch."""
        for name, stretch in zip(self.names, _stretches(self.sizes), strict=True):
            yield name, self.flat[stretch]

    def with_elements(self, flat: Array) -> Self:
        """The same parameters with other elements."""
        return type(self)(self.names, self.sizes, flat)


def total(parts: Iterable[Gradient]) -> Gradient:
    """Sum of gradients. Where they hold different parameters, absent ones count as zero."""
    gradients = list(parts)
    if not gradients:
        return Gradient.of({})
    if all(g.names == gradients[0].names for g in gradients):
        return gradients[0].with_elements(np.sum([g.flat for g in gradients], axis=0))
    values: dict[str, Array] = {}
    for gradient in gradients:
        for name, part in gradient.parts():
            values[name] = values[name] + part if name in values else part
    return Gradient.of(values)


def norm(values: Array) -> float:
    """L2 norm of all elements, in double precision."""
    flat = values.ravel().astype(np.float64, copy=False)
    return math.sqrt(flat.dot(flat))  # by BLAS, which has one thread in the oracle's process


def end_to_end(values: Sequence[Array]) -> Array:
    """All elements of all arrays in double precision. (sum of sizes,)"""
    if not values:
        return np.zeros(0)
    return np.concatenate([v.ravel() for v in values]).astype(np.float64, copy=False)


def sums(values: Array, sizes: tuple[int, ...]) -> Array:
    """Sum of each stretch. (sum of sizes,) -> (stretches,)"""
    if 0 in sizes or not sizes:  # numpy gives an empty stretch the first value of the next
        return np.array([values[stretch].sum() for stretch in _stretches(sizes)])
    found: Array = np.add.reduceat(values, [stretch.start for stretch in _stretches(sizes)])
    return found


@cache
def _stretches(sizes: tuple[int, ...]) -> tuple[slice, ...]:
    ends = [*accumulate(sizes)]
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))
