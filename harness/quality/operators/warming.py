"""Schedules that begin at a learning rate of 0."""

from collections.abc import Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Operator
from harness.quality.program import Changes, ParsedProgram, before, code, instead


def _first_rate_zero(program: ParsedProgram) -> Iterator[Changes]:
    """A mutant whose learning rate is 0 for the first update only; a schedule goes on from its own
    rates.
    """
    optimizer = program.optimizer()
    for loop in program.loaders()[:1]:
        if any(code(step).startswith(f"{optimizer}.") for step in program.steps()):
            yield {
                program.outermost(loop): before(
                    f"_groups = {optimizer}.param_groups",
                    f"_plain, _rates = {optimizer}.step, []",
                    "def _step(*args):\n"
                    "    rates = [group['lr'] for group in _groups]\n"
                    "    for group, rate in zip(_groups, rates):\n"
                    "        group['lr'] = rate if _rates else 0.0\n"
                    "    _plain(*args)\n"
                    "    for group, rate in zip(_groups, rates):\n"
                    "        group['lr'] = rate\n"
                    "    _rates.append(rates)",
                    f"{optimizer}.step = _step",
                )
            }


def _counted_from_zero(program: ParsedProgram) -> Iterator[Changes]:
    """A mutant that counts from 0: ``(update + 1) / warm_up`` becomes ``update / warm_up``."""
    for node in cast("list[cst.BinaryOperation]", program.all(cst.BinaryOperation)):
        if not isinstance(node.operator, cst.Divide):
            continue
        match node.left:
            case cst.BinaryOperation(
                left=cst.Name(value=name), operator=cst.Add(), right=cst.Integer(value="1")
            ):
                yield {node.left: instead(name)}


OPERATORS = (
    Operator(
        "first-rate-zero",
        "The first update has a learning rate of 0.",
        ("first-update-not-lost",),
        _first_rate_zero,
    ),
    Operator(
        "warm-up-counted-from-zero",
        "The ramp begins at 0 / n.",
        ("first-update-not-lost",),
        _counted_from_zero,
    ),
)
"""The operators on warm-up."""
