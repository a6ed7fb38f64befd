"""How torch, numpy and Python word it that data have not the shape or the amount that is asked for."""

import re
from math import isqrt, prod

WIDTHS = tuple(
    re.compile(pattern)
    for pattern in (
        r"shapes cannot be multiplied \(\d+x(?P<given>\d+) and (?P<wanted>\d+)x\d+\)",
        r"expected input\[.*?\] to have (?P<wanted>\d+) channels, but got (?P<given>\d+)",
        r"must be equal to input_size\. Expected (?P<wanted>\d+), got (?P<given>\d+)",
        r"normalized_shape=\[(?P<wanted>\d+)\].* got input of size ?\[.*?(?P<given>\d+)\]$",
        r"running_mean should contain (?P<given>\d+) elements not (?P<wanted>\d+)",
    )
)
"""Rows of another width than a layer takes: what they have, and what is asked for."""

CLASSES = re.compile(r"Target \d+ is out of bounds")
"""A class that a model has no output for."""

SMALL = re.compile(
    r"[Oo]utput size is too small|Invalid computed output size|[Kk]ernel size can't be greater"
)
"""Pictures or rows that are smaller than what convolutions and pools take off them."""

MISMATCH = re.compile(
    r"size of tensor a \((?P<first>\d+)\) must match the size of tensor b \((?P<second>\d+)\)"
)
"""Two sizes that should be one."""

TARGET = re.compile(
    r"arget size \(torch\.Size\(\[\d+, (?P<first>\d+)\]\)\) (?:that is different to the|must be the same"
    r" as) input size \(torch\.Size\(\[\d+, (?P<second>\d+)\]\)\)"
)
"""Columns of targets and of outputs that should be as many."""

NARROW = re.compile(
    r"larger than (the )?(image|input|picture)|(image|picture)s? .*too small"
    r"|smaller than (the )?(crop|patch)",
    re.IGNORECASE,
)
"""How programs word it that a picture has not enough pixels."""

TOO_SHORT = re.compile(
    r"should return >= 0|'from' to be less than 'to'|low >= high|high <= 0|empty range"
)
"""Nothing is left of what windows or crops are cut from."""

NOTHING = re.compile(
    rf"{TOO_SHORT.pattern}|non-empty|num_samples=0|at least one array|(division|modulo) by zero|is empty"
    r"|from an empty sequence|larger than population"
)
"""Nothing is left of what a program selects, or fills batches with."""


RESHAPED = re.compile(
    r"cannot reshape array of size (?P<given>\d+) into shape \((?P<shape>[\d,-]+)\)"
    r"|shape '\[(?P<sides>[\d, -]+)\]' is invalid for input of size (?P<size>\d+)"
)
"""How numpy and torch word it that there are not as many numbers as are asked for."""


def reshaped(said: str) -> tuple[int, int] | None:
    """How many numbers there are, and how many the shape has that is asked for, or a row of it."""
    found = RESHAPED.search(said)
    if found is None:
        return None
    sides = [int(side) for side in re.split("[, ]+", found["shape"] or found["sides"]) if side]
    return int(found["given"] or found["size"]), abs(prod(sides))


def side_asked_for(said: str, side: int) -> int | None:
    """The side of pictures for which as much is left behind convolutions as a layer takes."""
    asked = width_asked_for(said)
    if asked is None or not asked[0]:
        return None
    given, wanted = asked
    found = isqrt(side * side * wanted // given)
    return found if found != side and given * found * found == wanted * side * side else None


def width_asked_for(said: str) -> tuple[int, int] | None:
    """The width that rows have, and the one that is asked for."""
    found = next((m for pattern in WIDTHS if (m := pattern.search(said))), None)
    return (int(found["given"]), int(found["wanted"])) if found is not None else None
