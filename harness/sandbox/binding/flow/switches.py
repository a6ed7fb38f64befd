"""Options that can only be on or off: ``if args.profile: ...``."""

import ast
from collections.abc import Iterator

from harness.sandbox.binding.flow.effects import (
    BACKWARD,
    CLIPS,
    STEP,
    Effects,
    called,
    touches_gradients,
)
from harness.sandbox.binding.flow.graph import Node
from harness.syntax import walk

TESTED = frozenset({
    "guards", "guards_step", "wants_on", "wants_off", "format", "unused", "discarded",
})  # fmt: skip
"""Uses of a value of which only the truth is asked."""


MANAGING = CLIPS | {"zero_grad", "unscale_", "no_sync", "all_reduce"}
"""Calls that belong to the training that is meant: a loop without them is another loop."""

DECIDING = frozenset({
    "to_loss", "divides_loss", "divides_grad", "mod", "range_inner", "accumulation", "max_norm",
    "parameters", "optimizer",
})  # fmt: skip
"""Uses of values that decide what the optimizer consumes, and when."""


def decides(node: Node) -> bool:
    """Whether assigning the value in one branch changes the training, so that neither side may be
    guessed.
    """
    return "loss" in node.tags or bool(node.uses & DECIDING)


def atoms(test: ast.expr, *, negated: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """The names and attributes in a condition, and whether each is negated."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from atoms(part, negated=negated)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from atoms(test.operand, negated=not negated)
    elif isinstance(test, ast.Name | ast.Attribute):
        yield test, negated


def preference(tree: ast.If, effects: Effects) -> bool | None:
    """Which side of a branch has to be taken for training to happen; ``None`` where it does not
    matter.
    """
    ways = [trains(tree.body, effects), trains(tree.orelse, effects)]
    return None if ways[0] == ways[1] else ways[0]


def is_switch(node: Node) -> bool:
    """Whether a value is only tested, and the loss does not depend on the result."""
    if "guards" not in node.uses and "guards_step" not in node.uses:
        return False
    return node.uses <= TESTED and not node.parts and not node.calls


def switched(node: Node) -> str | None:
    """On where training needs it; else off, as options usually are."""
    if {"wants_on", "wants_off"} <= node.uses:
        return None
    return "flag_on" if "wants_on" in node.uses else "flag_off"


def trains(body: list[ast.stmt], effects: Effects) -> bool:
    """Whether statements make updates, or manage what the optimizer consumes."""
    marks = effects.of(body) & {STEP, BACKWARD}
    switched = any(
        isinstance(node, ast.Attribute) and node.attr == "require_backward_grad_sync"
        for statement in body
        for node in walk(statement)
    )
    return bool(marks or called(body) & MANAGING or touches_gradients(body) or switched)
