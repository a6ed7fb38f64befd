"""Gradient norms by layer, from the first to the last, as a diagnostic could have printed them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.domain.trace import Learning, ProbeTrace
from harness.properties.figures import middle
from harness.properties.printed import matching, printed, rounded_away

MANY = 250
"""Different numbers among which a true norm may be found by chance."""

MOSTLY = 0.3
"""Part of so many numbers that has to be true norms; else a reader could not tell which are."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a program printed about the early and the late layers in one probe."""

    early: tuple[float, ...]
    """Printed norms of early layers."""
    late: tuple[float, ...]
    """Printed norms of late layers."""
    ratios: tuple[float, ...]
    """Printed early-to-late ratios."""
    whole: tuple[float, ...]
    """Printed norms of the whole gradient."""
    rounded: bool
    """Whether norms were printed as zeros that they are not."""
    count: int
    """Numbers printed at all."""

    @property
    def contrast(self) -> float | None:
        """Early over late, as a reader sees it; ``None`` if it cannot be seen."""
        if self.ratios:
            return middle(self.ratios)
        if self.late and self.early:
            return middle(self.early) / middle(self.late)
        return 0.0 if self.late and self.rounded else None


def shown(probe: ProbeTrace) -> Shown | None:
    """What was printed, held against the true norms; ``None`` when these were not measured."""
    learning = probe.learning
    if learning is None or not learning.printed_norms:
        return None
    layers = by_layer(learning)
    third = max(1, len(layers) // 3)
    early, late = layers[:third], layers[-third:]
    numbers = printed(probe.program.texts)
    found = Shown(
        early=matching(numbers, flat(early)),
        late=matching(numbers, flat(late)),
        ratios=ratios(numbers_of=probe, early=early, late=late),
        whole=matching(numbers, whole_norms(learning)),
        rounded=rounded_away(numbers, flat(early)),
        count=len(numbers),
    )
    true = {*matching(numbers, flat(layers)), *found.ratios, *found.whole}
    if len(numbers) > MANY and len(true) < MOSTLY * len(numbers):
        return replace(found, early=(), late=(), ratios=(), whole=(), rounded=False)
    return found


def by_layer(learning: Learning) -> list[list[tuple[float, ...]]]:
    """Layer by layer, the norms of its parameters and of itself."""
    layers: dict[str, list[tuple[float, ...]]] = {}
    for name, norms in learning.printed_norms.items():
        layers.setdefault(name.rpartition(".")[0], []).append(norms)
    return list(layers.values())


def flat(layers: Sequence[Sequence[tuple[float, ...]]]) -> tuple[float, ...]:
    """All norms of some layers."""
    return tuple(norm for layer in layers for norms in layer for norm in norms)


def ratios(
    *,
    numbers_of: ProbeTrace,
    early: Sequence[Sequence[tuple[float, ...]]],
    late: Sequence[Sequence[tuple[float, ...]]],
) -> tuple[float, ...]:
    """Printed numbers that are an early norm over a late one of the same moment, or the inverse."""
    numbers = [n for n in printed(numbers_of.program.texts) if n.digits > 2]
    true = [
        a / b
        for first, last in ((e, t) for e in early for t in late)
        for one, other in ((o, p) for o in first for p in last if len(o) == len(p))
        for a, b in zip(one, other, strict=True)
        if a > 0 and b > 0
    ]
    inverse = matching([n for n in numbers if n.value > 0], (1.0 / t for t in true))
    return (*matching(numbers, true), *(1.0 / value for value in inverse))


def whole_norms(learning: Learning) -> tuple[float, ...]:
    """Norm of the whole gradient at each moment."""
    single = [norms for name, norms in learning.printed_norms.items() if not name.endswith(".*")]
    moments = min((len(n) for n in single), default=0)
    return tuple(math.sqrt(math.fsum(n[k] ** 2 for n in single)) for k in range(moments))
