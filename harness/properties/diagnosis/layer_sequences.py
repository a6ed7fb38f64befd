"""Statistics of gradients that a program prints layer after layer, beside what they should be.

A single number is some statistic of some layer by chance; a row of numbers, one for each layer in the
order of the model, is not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.domain.trace import Learning
from harness.properties.diagnosis.printed import PrintedNumber, by_place

Series = Mapping[str, Sequence[float]]
"""Values of each parameter, and of each layer as ``layer.*``, moment by moment."""

DECAYS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
"""Decays of moving averages that people write."""

LEAST = 3
"""Layers in a row that cannot be chance."""

KINDS = (".weight", ".bias", ".*")
"""How the names end of what a row may be limited to."""


def in_sequence(
    texts: Sequence[str], learning: Learning, least: float
) -> tuple[PrintedNumber, ...] | None:
    """The first row of numbers that are one true statistic of all layers at one moment, first layer
    first; ``None`` where no place of the output holds such rows and nothing else, ``least`` numbers
    or more.
    """
    lines = [" ".join(line.split()) for text in texts for line in text.splitlines()]
    places = [place for place in by_place(lines) if len(place) >= max(LEAST, least)]
    if not places:
        return None
    for series in statistics(learning):
        for names in rows(series):
            for place in places:
                if (found := row_of(place, series, names)) is not None:
                    return found
    return None


def statistics(learning: Learning) -> Iterator[Series]:
    """What a program may print of layers: running means of norms, and what the oracle measured."""
    yield from learning.printed_statistics.values()
    norms = learning.printed_norms
    yield {name: running_means(values) for name, values in norms.items()}
    for decay in DECAYS:
        for smooth in (from_the_first, from_zero, corrected):
            yield {name: smooth(values, decay) for name, values in norms.items()}


def rows(series: Series) -> Iterator[tuple[str, ...]]:
    """The parameters that a row may go through: all of them, or those of one kind."""
    single = tuple(name for name in series if not name.endswith(".*"))
    kinds = (tuple(name for name in series if name.endswith(kind)) for kind in KINDS)
    for names in (single, *kinds):
        if len(names) >= LEAST:
            yield names
            yield names[::-1]


def row_of(
    place: Sequence[PrintedNumber], series: Series, names: tuple[str, ...]
) -> tuple[PrintedNumber, ...] | None:
    """The first of the rows that a place holds, where each of them is true."""
    size = len(names)
    if len(place) % size:
        return None
    blocks = [place[i : i + size] for i in range(0, len(place), size)]
    moments = [*zip(*(series[name] for name in names), strict=False)]
    if not all(any(shows(block, truth) for truth in moments) for block in blocks):
        return None
    first = tuple(blocks[0])
    order = [*series]
    return first if order.index(names[0]) < order.index(names[-1]) else first[::-1]


def shows(block: Iterable[PrintedNumber], truths: Iterable[float]) -> bool:
    """Whether each number is the value at its place."""
    return all(n.shows(t) for n, t in zip(block, truths, strict=True))


def running_means(values: Sequence[float]) -> tuple[float, ...]:
    """Means of all values so far."""
    return tuple(sum(values[: k + 1]) / (k + 1) for k in range(len(values)))


def from_the_first(values: Sequence[float], decay: float) -> tuple[float, ...]:
    """Moving averages that begin at the first value."""
    return averages(values, values[0] if values else 0.0, decay)


def from_zero(values: Sequence[float], decay: float) -> tuple[float, ...]:
    """Moving averages that begin at nothing."""
    return averages(values, 0.0, decay)


def corrected(values: Sequence[float], decay: float) -> tuple[float, ...]:
    """Those, over the weight that they have by then."""
    found = from_zero(values, decay)
    return tuple(value / (1.0 - decay ** (k + 1)) for k, value in enumerate(found))


def averages(values: Sequence[float], start: float, decay: float) -> tuple[float, ...]:
    """Moving averages of values."""
    found, mean = [], start
    for value in values:
        mean = decay * mean + (1.0 - decay) * value
        found.append(mean)
    return tuple(found)
