"""Numbers in what a program printed, with the precision they were printed at."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Self

NUMBER = re.compile(r"(?<![\w.])[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?(?![\w]|\.\d)")
"""A number with a point or an exponent that is no part of a name such as ``net.0.weight``."""

WHOLE = re.compile(r"\d+")
"""Whole numbers, such as counts of steps and layers."""

SINGLE = 2.0**-13
"""Relative error of a norm over a million elements in single precision: 2**-23 times the root of a
million.
"""


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """One number as it was printed."""

    value: float
    """Its value."""
    half: float
    """Half a unit of its last digit: what rounding may have taken."""
    digits: int
    """Significant digits."""
    floats: bool = False
    """Whether it has an exponent, so that its zero is no rounded number."""

    def shows(self, truth: float) -> bool:
        """Whether it is this value, rounded. A single digit is too little to say so."""
        return self.digits > 1 and abs(self.value - truth) <= self.half * 1.001 + SINGLE * abs(
            truth
        )

    def rounds_away(self, truth: float) -> bool:
        """Whether it is a zero, to which this value was rounded."""
        return self.value == 0.0 and 0.0 < abs(truth) <= self.half


def printed(texts: Iterable[str]) -> tuple[PrintedNumber, ...]:
    """Every decimal number, in order, each once."""
    return once(n for text in texts for match in NUMBER.finditer(text) for n in number_of(match))


def once(numbers: Iterable[PrintedNumber]) -> tuple[PrintedNumber, ...]:
    """The same numbers, in order, each once."""
    return tuple({(n.value, n.half): n for n in numbers}.values())


def by_place(
    texts: Iterable[str], *, counted: bool = False
) -> tuple[tuple[PrintedNumber, ...], ...]:
    """The numbers grouped by place: the same position in lines that are equal but for their
    numbers.

    ``counted``: whether lines that differ in a whole number are different lines.
    """
    places: dict[tuple[str, int], list[PrintedNumber]] = {}
    for line in (line for text in texts for line in text.splitlines()):
        shape = NUMBER.sub("#", line)
        shape = shape if counted else WHOLE.sub("#", shape)
        for position, match in enumerate(NUMBER.finditer(line)):
            places.setdefault((shape, position), []).extend(number_of(match))
    return tuple(tuple(place) for place in places.values())


def number_of(match: re.Match[str]) -> tuple[PrintedNumber, ...]:
    """The number that was matched; empty where its exponent is absurd."""
    mantissa, exponent = match.group(1), match.group(2) or "e0"
    power = int(exponent[1:])
    if abs(power) > 300:
        return ()
    decimals = len(mantissa.partition(".")[2])
    digits = len(mantissa.replace(".", "").lstrip("0"))
    half, floats = 0.5 * 10.0 ** (power - decimals), match.group(2) is not None
    return (PrintedNumber(abs(float(match.group(0))), half, digits, floats),)


@dataclass(frozen=True, slots=True)
class TrueNumbers:
    """True values that a program may have printed."""

    sizes: tuple[float, ...]
    """Their sizes without those that are not finite, the smallest first."""

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """These values, in any order."""
        return cls(tuple(sorted(abs(v) for v in values if math.isfinite(v))))

    def shown_by(self, number: PrintedNumber) -> bool:
        """Whether the number is one of them, rounded: if any, then one of its two neighbours."""
        sizes, after = self.sizes, bisect_left(self.sizes, number.value)
        return (after < len(sizes) and number.shows(sizes[after])) or (
            after > 0 and number.shows(sizes[after - 1])
        )

    def times(self, number: PrintedNumber) -> int:
        """How many of them the number is, rounded."""
        sizes, last = self.sizes, bisect_left(self.sizes, number.value)
        above = takewhile(number.shows, islice(sizes, last, None))
        below = takewhile(number.shows, (sizes[i] for i in range(last - 1, -1, -1)))
        return sum(1 for _ in above) + sum(1 for _ in below)


def matching(numbers: Iterable[PrintedNumber], truths: TrueNumbers) -> tuple[float, ...]:
    """Values of those printed numbers that show one of the true values."""
    return tuple(n.value for n in numbers if truths.shown_by(n))


def rounded_away(numbers: Sequence[PrintedNumber], truths: Iterable[float]) -> bool:
    """Whether some printed zero is one of these values, rounded."""
    known = tuple(truths)
    return any(n.rounds_away(t) for n in numbers for t in known)
