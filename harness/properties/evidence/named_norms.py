"""Norms that stand beside the name of a parameter, and are those of another one."""

import re
from collections.abc import Iterator, Sequence

from harness.domain.trace import ProbeTrace
from harness.properties.evidence.printed import NUMBER, Printed, Truths, number_of

ENOUGH = 4
"""Fewer numbers beside names prove nothing."""

CHANCE = 0.5
"""Part of them that has to be another parameter's norm; a single one may be so by chance."""


def misnamed(probe: ProbeTrace) -> str | None:
    """A printed line with a true norm beside the name of another parameter, where most are such and
    hardly any is right; ``None`` otherwise.
    """
    norms = {} if probe.learning is None else probe.learning.printed_norms
    lines = [line for text in probe.program.texts for line in text.splitlines()]
    found = [(line, *pair) for line in lines for pair in beside_names(line, tuple(norms))]
    wrong: list[str] = []
    right = 0
    for line, name, shown in found:
        layer = f"{name.rpartition('.')[0]}."
        own = Truths.of(v for n, vs in norms.items() if n in (name, f"{layer}*") for v in vs)
        if own.shown_by(shown):
            right += 1
            continue
        others = Truths.of(v for n, vs in norms.items() if not n.startswith(layer) for v in vs)
        if others.shown_by(shown):
            wrong.append(line)
    enough = len(found) >= ENOUGH and len(wrong) >= CHANCE * len(found) > 2 * right
    return wrong[0].strip() if enough else None


def beside_names(line: str, names: Sequence[str]) -> Iterator[tuple[str, Printed]]:
    """The number behind each parameter's name in a line, where one stands before the next name."""
    known = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True) if "*" not in n)
    places = list(re.finditer(rf"(?<![\w.])(?:{known})(?![\w.])", line)) if known else []
    for number, place in enumerate(places, start=1):
        end = places[number].start() if number < len(places) else len(line)
        numbers = list(NUMBER.finditer(line, place.end(), end))
        if len(numbers) == 1:
            yield from ((place.group(), n) for n in number_of(numbers[0]) if n.digits > 1)
