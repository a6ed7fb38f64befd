"""Whether code changes parameters itself: ``for p in parameters: p -= lr * p.grad``."""

import ast
from collections.abc import Iterator

from harness.extraction.reach import last_name
from harness.syntax import walk

_WRITES = frozenset({"add_", "sub_", "copy_", "addcdiv_"})
_JOINED = frozenset({f"_foreach_{name}" for name in _WRITES})
_LOOKS = frozenset({"grad", "grads", "gradient", "gradients"})


def changes_by_hand(tree: ast.AST) -> bool:
    """Whether there is such a place."""
    return next(updates_by_hand(tree), None) is not None


def updates_by_hand(tree: ast.AST) -> Iterator[ast.AST]:
    """Loops over parameters that write into them, next to a gradient, what writes in there, and calls
    that do so for all.
    """
    computed = any(isinstance(n, ast.Call) and last_name(n.func) == "grad" for n in walk(tree))
    for node in walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in _JOINED:
            yield node
        if isinstance(node, ast.For) and (computed or _LOOKS & set(_names(node))):
            looped = {n.id for n in walk(node.target) if isinstance(n, ast.Name)}
            writes = [n for body in node.body for n in walk(body) if _writes(n, looped)]
            yield from [node, *writes] if writes else ()


def _writes(node: ast.AST, looped: set[str]) -> bool:
    """Whether one of the loop's tensors itself is written into, or its data, and not its gradient."""
    match node:
        case ast.AugAssign(target=target, op=ast.Sub() | ast.Add()):
            return _of(target) in looped
        case ast.Assign(targets=[ast.Attribute(attr="data") as target]):
            return _of(target) in looped
        case ast.Call(func=ast.Attribute(attr=name, value=target)) if name in _WRITES:
            return _of(target) in looped
        case _:
            return False


def _of(target: ast.AST) -> str | None:
    """``p`` of ``p``, ``p.data`` and ``p.data[:]``."""
    while isinstance(target, ast.Subscript) or (
        isinstance(target, ast.Attribute) and target.attr == "data"
    ):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _names(node: ast.AST) -> Iterator[str]:
    return (last_name(n) for n in walk(node) if isinstance(n, ast.Attribute | ast.Name))
