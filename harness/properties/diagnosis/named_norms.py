"""Norms that stand beside the name of a parameter or a layer, and are those of another one."""

import re
from collections.abc import Iterable, Iterator, Sequence

from harness.domain.trace import ProbeTrace
from harness.properties.diagnosis.printed import NUMBER, PrintedNumber, TrueNumbers, number_of

ENOUGH = 4
"""Fewer numbers beside names prove nothing."""

LAYER = r"(?i:layer|module|linear)s?[\s_:#(\[]*"
"""What has to stand before the name of a layer where that is a number."""

CHANCE = 0.5
"""Part of them that has to be another parameter's norm; a single one may be so by chance."""


def misnamed(probe: ProbeTrace) -> str | None:
    """A printed line with a true norm beside the name of another parameter or layer, where most are
    such and hardly any is right; ``None`` otherwise.
    """
    norms = {} if probe.learning is None else probe.learning.printed_norms
    lines = [line for text in probe.program.texts for line in text.splitlines()]
    found = beside_parameters(lines, norms) or beside_layers(lines, norms)
    wrong: list[str] = []
    right = 0
    for line, name, shown in found:
        layer = f"{name.rpartition('.')[0]}."
        mine = {
            n for n in norms if n in (name, f"{layer}*") or (name == layer and n.startswith(name))
        }
        if TrueNumbers.of(v for n in mine for v in norms[n]).shown_by(shown):
            right += 1
            continue
        others = TrueNumbers.of(v for n, vs in norms.items() if not n.startswith(layer) for v in vs)
        if others.shown_by(shown):
            wrong.append(line)
    enough = len(found) >= ENOUGH and len(wrong) >= CHANCE * len(found) > 2 * right
    return wrong[0].strip() if enough else None


Named = list[tuple[str, str, PrintedNumber]]
"""Lines, each with a name in it and the number behind that; a layer's name ends with a point."""


def beside_parameters(lines: Sequence[str], names: Iterable[str]) -> Named:
    """The numbers behind names of parameters."""
    known = longest_first(n for n in names if "*" not in n)
    pattern = rf"(?<![\w.])(?P<name>{known})(?![\w.])"
    return [found for line in lines for found in behind(line, pattern)] if known else []


def beside_layers(lines: Sequence[str], names: Iterable[str]) -> Named:
    """The numbers behind names of layers, where all layers are named and nothing else is: one that
    counts layers has other names for them.
    """
    layers = {n.rpartition(".")[0] for n in names if "*" not in n} - {""}
    if not layers:
        return []
    plain = longest_first(n for n in layers if not n.isdigit()) or "(?!)"
    numbered = rf"(?<![\w.])(?P<name>{plain}|{LAYER}\d+)(?![\w.]*\w)"
    found = [pair for line in lines for pair in behind(line, numbered)]
    called = [(line, re.sub(LAYER, "", name), shown) for line, name, shown in found]
    if {name for _, name, _ in called} != layers:
        return []
    return [(line, f"{name}.", shown) for line, name, shown in called]


def longest_first(names: Iterable[str]) -> str:
    """A pattern for any of these."""
    return "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))


def behind(line: str, pattern: str) -> Iterator[tuple[str, str, PrintedNumber]]:
    """The number behind each name in a line, where one stands before the next name."""
    places = list(re.finditer(pattern, line))
    for number, place in enumerate(places, start=1):
        end = places[number].start() if number < len(places) else len(line)
        numbers = list(NUMBER.finditer(line, place.end(), end))
        if len(numbers) == 1:
            yield from (
                (line, place.group("name"), n) for n in number_of(numbers[0]) if n.digits > 1
            )
