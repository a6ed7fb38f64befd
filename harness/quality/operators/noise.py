"""Faults in noise that is added to gradients."""

from collections.abc import Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Operator
from harness.quality.program import Changes, ParsedProgram, code, instead


def _seeded_again(program: ParsedProgram) -> Iterator[Changes]:
    for argument in cast("list[cst.Arg]", program.all(cst.Arg)):
        named = argument.keyword is not None and argument.keyword.value == "generator"
        if named and isinstance(argument.value, cst.Name):
            yield {argument.value: instead(f"{code(argument.value)}.manual_seed(0)")}


OPERATORS = (
    Operator(
        "noise-seeded-again",
        "The generator is seeded anew before each draw: every update gets the same noise.",
        ("noise-is-new",),
        _seeded_again,
        also=("reshuffled-every-epoch",),  # of a sampler the order is what is drawn
    ),
)
"""The operators on noise."""
