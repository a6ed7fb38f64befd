"""What a program printed about the gradient norms of early and late layers, held against the true
ones.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.domain.trace import Learning, ProbeTrace
from harness.properties.diagnosis.layer_sequences import in_sequence
from harness.properties.diagnosis.printed import (
    PrintedNumber,
    TrueNumbers,
    by_place,
    matching,
    once,
    printed,
    rounded_away,
)
from harness.properties.evidence.figures import middle

MANY = 250
"""Among more than this many different printed numbers, a true norm may turn up by chance."""

HALF = 0.5
"""Part of the numbers printed at one place that have to be true before any of them counts. Now and
then a loss equals a true ratio by chance.
"""

FEW = 2
"""Up to this many numbers at one place, every one has to be true."""

MOSTLY = 0.3
"""Part of many printed numbers that have to be true norms; below it a reader cannot tell which are."""


@dataclass(frozen=True, slots=True)
class ShownLayers:
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
    """Whether true norms above 0 were printed as zeros."""
    empty: bool
    """Whether zeros were printed in scientific notation, to which nothing is rounded."""
    count: int
    """How many numbers were printed at all."""

    @property
    def contrast(self) -> float | None:
        """Early over late norm, as a reader of the output sees it; ``None`` if it cannot be seen."""
        if self.ratios:
            return middle(self.ratios)
        if self.late and self.early:
            return middle(self.early) / middle(self.late)
        return 0.0 if self.rounded and {*self.late} - {*self.whole} else None


def shown(probe: ProbeTrace) -> ShownLayers | None:
    """What was printed about early and late layers; ``None`` when the true norms were not measured.

    Where they are no norms of early and late layers at any moment, they may be averages over the run,
    or rows of another statistic.
    """
    learning = probe.learning
    if learning is None or not learning.printed_norms:
        return None
    found = held_against(probe, learning)
    if found.contrast is not None:
        return found
    at_the_end = held_against(probe, averaged(learning))
    if at_the_end.contrast is not None:
        return at_the_end
    least = MOSTLY * found.count if found.count > MANY else 0.0
    row = in_sequence(probe.program.texts, learning, least)
    if row is None:
        return found
    third, values = max(1, len(row) // 3), tuple(n.value for n in row)
    return replace(found, early=values[:third], late=values[-third:], rounded=False)


def averaged(learning: Learning) -> Learning:
    """The same with one norm for each layer, its mean over the run, as a report at the end gives it."""
    means = {name: (sum(n) / len(n),) for name, n in learning.printed_norms.items() if n}
    return learning.model_copy(update={"printed_norms": means})


def held_against(probe: ProbeTrace, learning: Learning) -> ShownLayers:
    """The printed numbers that match these norms."""
    layers = by_layer(learning)
    third = max(1, len(layers) // 3)
    early, late = layers[:third], layers[-third:]
    texts = probe.program.texts
    numbers = printed(texts)
    whole = whole_norms(learning)
    norms = true_norms(by_place(texts), TrueNumbers.of((*flat(layers), *whole)))
    found = ShownLayers(
        early=matching(norms, TrueNumbers.of(flat(early))),
        late=matching(norms, TrueNumbers.of(flat(late))),
        ratios=ratios(texts, early, late),
        whole=matching(norms, TrueNumbers.of(whole)),
        rounded=rounded_away(numbers, flat(early)),
        empty=any(n.value == 0.0 and n.floats for n in numbers),
        count=len(numbers),
    )
    true = {*matching(numbers, TrueNumbers.of(flat(layers))), *found.ratios, *found.whole}
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


def true_norms(
    places: Sequence[Sequence[PrintedNumber]], truths: TrueNumbers
) -> tuple[PrintedNumber, ...]:
    """The printed numbers of all places at which most numbers are true norms."""
    return once(n for place in places if mostly(place, truths) for n in place)


def mostly(place: Sequence[PrintedNumber], truths: TrueNumbers) -> bool:
    """Whether enough numbers at one place are among these values. Zeros and single digits do not
    count.
    """
    telling = [n for n in place if n.digits > 1]
    wrong = 0.0 if len(telling) <= FEW else (1.0 - HALF) * len(telling)
    for number in telling:
        wrong -= not truths.shown_by(number)
        if wrong < 0:  # most places hold something else, and there are hundreds of pairs to try
            return False
    return bool(telling) and (len(telling) <= FEW or often_enough(telling, truths))


def often_enough(numbers: Sequence[PrintedNumber], truths: TrueNumbers) -> bool:
    """Whether enough of them are left when a number that is printed again has to be true again: one
    that never changes is not measured, and equals some norm at some moment by chance.
    """
    times = Counter(numbers)
    true = sum(min(again, truths.times(number)) for number, again in times.items())
    return true >= HALF * len(numbers)


def ratios(
    texts: Sequence[str],
    early: Sequence[Sequence[tuple[float, ...]]],
    late: Sequence[Sequence[tuple[float, ...]]],
) -> tuple[float, ...]:
    """Printed numbers that are an early norm over a late one at the same moment, or its inverse.

    One place of the output is taken to show the same pair of norms at every moment.
    """
    pairs = [
        [a / b for a, b in zip(one, other, strict=True) if a > 0 and b > 0]
        for first in early
        for last in late
        for one in first
        for other in last
        if len(one) == len(other)
    ]
    found: list[float] = []
    both = [(TrueNumbers.of(pair), TrueNumbers.of(1.0 / t for t in pair)) for pair in pairs]
    for place in (*by_place(texts), *lasting(texts)):
        exact = [n for n in place if n.digits > 2 and n.value > 0]
        for pair, inverse in both if exact else ():
            if mostly(exact, pair):
                found += matching(exact, pair)
            elif mostly(exact, inverse):
                found += [1.0 / value for value in matching(exact, inverse)]
    return tuple(found)


def lasting(texts: Sequence[str]) -> list[tuple[PrintedNumber, ...]]:
    """Places told apart by whole numbers such as a layer's index, where each recurs often enough
    not to match by chance.
    """
    return [place for place in by_place(texts, counted=True) if len(place) > 2 * FEW]


def whole_norms(learning: Learning) -> tuple[float, ...]:
    """Norm of the whole gradient at each moment."""
    single = [norms for name, norms in learning.printed_norms.items() if not name.endswith(".*")]
    moments = min((len(n) for n in single), default=0)
    return tuple(math.sqrt(math.fsum(n[k] ** 2 for n in single)) for k in range(moments))
