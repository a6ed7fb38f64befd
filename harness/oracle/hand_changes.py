"""What a program changed by hand, group by group, and by which multiple of the gradient."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harness.domain.event import Backward, ByHand, Finished, Forward, Start
from harness.domain.recording import Recorded
from harness.oracle.facts import Array, Parameters
from harness.oracle.gradient import end_to_end, norm
from harness.oracle.tensors import named, same_bits

CLOSE = 1e-3
"""Relative difference between a factor and what it is taken for."""
KNOWN = 0.05
"""From this relative uncertainty on a factor says nothing."""
ROUNDING = 2.0**-22
"""What single precision may lose of a parameter in one update, relative to it."""
MOST = 64
"""Calls of ``torch.autograd.grad`` whose results may have been added up for one update."""
FORGETS = 0.999
"""Below this a part of the change before is momentum; all of it is a sum that was not cleared."""


@dataclass(frozen=True)
class GradientFactor:
    """A multiple of the gradient."""

    value: float
    """Over the whole."""
    noise: float
    """How far rounding may have moved it."""
    by_name: dict[str, float]
    """Of each parameter where they differ, as after a clip; empty where one holds for all."""
    limit: float = np.inf
    """What elements of the gradient were clipped at on the way."""
    remembers: bool = False
    """Whether a decay or a part of the change before was taken out first."""

    def near(self, number: float) -> bool:
        """Whether it is this number."""
        return abs(self.value - number) <= CLOSE * abs(number) + self.noise

    @property
    def is_known(self) -> bool:
        """Whether rounding leaves it to be told."""
        return self.noise <= KNOWN * abs(self.value)


@dataclass(frozen=True)
class HandChange:
    """Parameters that changed between two other events."""

    position: int
    """Index of its event."""
    before: Parameters
    """They before it."""
    after: Parameters
    """And after it."""
    gradients: Parameters
    """All gradients as they were before it, in double precision."""
    earlier: Parameters
    """By how much the change before moved each."""
    numbers: tuple[tuple[str, float], ...]
    """What the program had at hand."""

    @property
    def still(self) -> tuple[str, ...]:
        """What a gradient of zero left in place."""
        return tuple(n for n, g in self.gradients.items() if n not in self.after and not g.any())

    @property
    def is_finite(self) -> bool:
        """Whether what it consumed and left are finite."""
        values = (*self.gradients.values(), *self.after.values())
        return all(bool(np.isfinite(v).all()) for v in values)

    @cached_property
    def moved(self) -> Parameters:
        """By how much each parameter went against its gradient."""
        return {n: self.before[n].astype(np.float64) - now for n, now in self.after.items()}

    def size(self, names: Iterable[str]) -> float:
        """Norm of some gradients together."""
        return norm(joined(self.gradients, names))

    def factor(self) -> GradientFactor | None:
        """By which multiple of the gradient it moved; ``None`` where it did something else."""
        return self.plain() or self._cut() or self._remembering()

    def plain(self) -> GradientFactor | None:
        """One multiple for each parameter, or for all."""
        if any(n not in self.gradients or not self.gradients[n].any() for n in self.after):
            return None
        found: dict[str, float] = {}
        alike = True
        sizes = {n: norm(self.gradients[n]) for n in self.after}
        whole = self._projected(self.after)
        for name, size in sizes.items():
            factor, noise = self._projected([name]), self.noise([name])
            rest = norm(self.moved[name] - factor * self.gradients[name])
            if rest > CLOSE * abs(factor) * size + noise:
                return None
            found[name] = factor
            alike = alike and abs(factor - whole) <= CLOSE * abs(whole) + noise / size
        noise = self.noise(self.after) / norm(joined(self.gradients, self.after))
        return GradientFactor(whole, noise, {} if alike else found)

    def _cut(self) -> GradientFactor | None:
        """One multiple for all, and elements that were clipped at one value, which is at hand."""
        if any(n not in self.gradients for n in self.after):
            return None
        gradient, moved = joined(self.gradients, self.after), joined(self.moved, self.after)
        limit = float(np.abs(moved).max(initial=0.0))
        free = np.abs(moved) < limit * (1.0 - CLOSE)
        square = float(gradient[free] @ gradient[free])
        factor = float(moved[free] @ gradient[free]) / (square or 1.0)
        wanted = np.clip(factor * gradient, -limit, limit)
        noise = self.noise(self.after)
        at_hand = any(abs(limit - n * factor) <= CLOSE * limit for _, n in self.numbers)
        if factor <= 0.0 or not at_hand or norm(moved - wanted) > CLOSE * norm(moved) + noise:
            return None
        return GradientFactor(factor, noise / square**0.5, {}, limit=limit / factor)

    def _remembering(self) -> GradientFactor | None:
        """One multiple for all beside a decay and a part of the change before."""
        names = [*self.after]
        if any(n not in self.gradients for n in names):
            return None
        columns = [joined(self.gradients, names), joined(self.before, names)]
        if all(n in self.earlier for n in names):
            columns.append(joined(self.earlier, names))
        moved = joined(self.moved, names)
        sizes = [norm(column) or 1.0 for column in columns]
        scaled = np.stack([c / size for c, size in zip(columns, sizes, strict=True)], axis=1)
        solved, *_ = np.linalg.lstsq(scaled, moved, rcond=1e-9)
        noise = self.noise(names)
        if norm(moved - scaled @ solved) > CLOSE * norm(moved) + noise:
            return None
        parts = [float(x) / size for x, size in zip(solved, sizes, strict=True)]
        if len(parts) > 2 and not -CLOSE <= parts[2] < FORGETS:
            return None
        return GradientFactor(parts[0], noise / sizes[0], {}, remembers=True)

    def _projected(self, names: Iterable[str]) -> float:
        gradients = joined(self.gradients, names)
        return float(joined(self.moved, names) @ gradients / (gradients @ gradients))

    def noise(self, names: Iterable[str]) -> float:
        """What rounding may have done to some parameters."""
        both = (norm(joined(values, names)) for values in (self.before, self.after))
        return ROUNDING * max(both)


def changes_of(recorded: tuple[Recorded, ...]) -> list[HandChange]:
    """All of them, in order; none at all where parameters changed in a way that was not seen."""
    walk = _HandWalk()
    for position, item in enumerate(recorded):
        if not walk.take(position, item):
            return []
    return walk.changes


class _HandWalk:
    """What the events before have left."""

    def __init__(self) -> None:
        self.changes: list[HandChange] = []
        self._parameters: Parameters = {}
        self._earlier: Parameters = {}
        self._returned: list[Parameters] = []
        self._since: set[str] = set()
        self._trained = False

    def take(self, position: int, item: Recorded) -> bool:
        """Go on by one event; false where it cannot be followed."""
        match item.event:
            case Start():
                self._parameters = dict(named(item, "param:"))
            case Forward() | Finished():
                return self._seen(dict(named(item, "param:")))
            case Backward() as event:
                self._seen(dict(named(item, "param:")))
                self._backward(event, item)
            case ByHand() as event:
                return self._change(position, event, item)
            case _:
                pass
        return True

    def _seen(self, now: Parameters) -> bool:
        known = [n for n in now if n in self._parameters]
        same = all(same_bits(now[n], self._parameters[n]) for n in known)
        self._parameters = {**self._parameters, **now}
        return same or not self._trained

    def _backward(self, event: Backward, item: Recorded) -> None:
        if not self._since:  # the first one of a window
            self._returned = []
        self._trained = True
        self._since.add(event.function)
        self._returned.append({n: g.astype(np.float64) for n, g in named(item, "ret:")})

    def _change(self, position: int, event: ByHand, item: Recorded) -> bool:
        after = dict(named(item, "param:"))
        last = self.changes[-1].after if self.changes else {}
        if not after.keys() <= self._parameters.keys() or (not self._since and after.keys() & last):
            return False
        change = HandChange(
            position=position,
            before={n: self._parameters[n] for n in after},
            after=after,
            gradients={n: g.astype(np.float64) for n, g in named(item, "grad:")},
            earlier=self._earlier,
            numbers=event.numbers,
        )
        if not any(change.gradients[n].any() for n in after if n in change.gradients):
            change = self._by_returned(change)
        self.changes.append(change)
        self._parameters = {**self._parameters, **after}
        self._earlier = {**self._earlier, **change.moved}
        self._since = set()
        return True

    def _by_returned(self, change: HandChange) -> HandChange:
        """With what ``torch.autograd.grad`` returned: all of it, or of the last calls where that fits
        and all does not, as after a sum that was given up.
        """
        sums: list[Parameters] = []
        for returned in reversed(self._returned[-MOST:]):
            last = sums[-1] if sums else {}
            sums.append({n: g + last.get(n, 0.0) for n, g in returned.items()})
        found = [replace(change, gradients=gradients) for gradients in reversed(sums)]
        fits = (c for c in found if c.gradients.keys() >= c.after.keys() and c.plain())
        return next(fits, found[0] if found else change)


def joined(values: Parameters, names: Iterable[str]) -> Array:
    """Values by name, end to end."""
    return end_to_end([values[n] for n in names])
