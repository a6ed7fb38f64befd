"""Tensors of a whole data set, of which a program takes its batches by hand: ``X[idx]``."""

import ast
from collections.abc import Callable, Iterable

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.effects import BACKWARD, STEP, Effects
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.reader import Reader
from harness.syntax import walk

PARTS = frozenset({"input", "target", "mask"})
"""Roles of names that hold a part of every sample then."""

OTHER_DATA = frozenset({"loader", "dataset", "batch"})
"""Roles of what yields batches itself."""


def picked_role(node: Node) -> str | None:
    """The role of what is picked from by a tensor of places; counted places pick a batch of a list.

    A data set is picked from sample by sample, or asked for its ``tensors``.
    """
    if node.uses & {"indexed", ".tensors"} and any(
        "set" in n.lower() for n in node.all_names()[:1]
    ):
        return "dataset"
    picked = node.parts.get(("[]", "*"))
    if picked is None or "indexed" not in node.uses or "counted" in node.uses:
        return None
    if "model_arg" in picked.uses:
        return "input"
    if "loss_target" in picked.uses:
        return "target"
    return "dataset" if hints.first(node.all_names()[:1], ("dataset",)) else None


def are_places(element: Node) -> bool:
    """Whether a sampler yields it: places in a data set, which are looked up there."""
    each = element.element
    looked_up = "as_index" in element.uses or (each is not None and "as_index" in each.uses)
    return looked_up and not element.uses & {"model_arg", "loss_target", "indexed", "sliced"}


def _mark_counted(reader: Reader) -> None:
    """Note what is indexed by a counter."""
    for whole, place, _ in reader.indexed:
        if "counter" in place.tags:
            reader.graph.use(whole, "counted")
    reader.graph.settle()


def holds_everything(
    tree: ast.Module, reader: Reader, nodes: Iterable[Node], role: Callable[[Node], str | None]
) -> bool:
    """Whether inputs that nothing yields are all there are: updates are made in a loop, and it does
    not go through batches. Code without such a loop is written for one batch.
    """
    _mark_counted(reader)
    yielding = (n for n in nodes if n.element is None or not are_places(n.element))
    roles = {role(node) for node in yielding}
    if "input" not in roles or roles & OTHER_DATA:
        return False
    return any(_trains(node, reader.effects) for node in walk(tree))


def _trains(node: ast.AST, effects: Effects) -> bool:
    """Whether it is a loop that makes an update each time or now and then, and no second attempt."""
    if not isinstance(node, ast.For | ast.While):
        return False
    last = (block[-1] for block in _ends(node.body) if block)
    if any(isinstance(statement, ast.Break | ast.Return) for statement in last):
        return False
    return {STEP, BACKWARD} <= effects.of(node.body)


def _ends(body: list[ast.stmt]) -> list[list[ast.stmt]]:
    """The block itself, and that of a ``try`` in it."""
    return [body, *(s.body + s.orelse for s in body if isinstance(s, ast.Try))]
