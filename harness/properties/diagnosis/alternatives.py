"""Texts of which a program prints one or the other, read from its source.

What a recording gives for the source is as untrusted as the rest of it.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from harness.syntax import tree_of

Node = TypeVar("Node", bound=ast.AST)

Branches = tuple[tuple[str, ...], ...]
"""The texts of each branch."""

FORMAT = re.compile(r"%[-+ #0-9.]*[a-zA-Z]|\{[^{}]*\}")
"""What ``%`` and ``str.format`` replace."""


def parsed(source: str) -> ast.Module | None:
    """The program as a syntax tree; ``None`` when it is not Python."""
    try:
        return tree_of(source)
    except SyntaxError:
        return None


def choices(source: str) -> list[Branches]:
    """Sets of texts of which a run prints one: the two sides of a condition, the returns of a
    function, the values assigned to one name.
    """
    tree = parsed(source)
    found: list[Branches] = []
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.IfExp():
                found.append((texts([node.body]), texts([node.orelse])))
            case ast.If():
                found.append((texts(node.body), texts(node.orelse)))
            case ast.FunctionDef():
                found.append(tuple(texts([r]) for r in _own(node, ast.Return)))
        if isinstance(node, ast.FunctionDef | ast.Module):
            found += _assigned(node)
    spoken = [tuple(branch for branch in branches if branch) for branches in found]
    return [branches for branches in spoken if len(branches) > 1]


def texts(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """The string constants below these nodes, split where values are inserted."""
    return tuple(
        piece.strip()
        for node in nodes
        for below in ast.walk(node)
        if isinstance(below, ast.Constant) and isinstance(below.value, str)
        for piece in FORMAT.split(below.value)
        if any(c.isalpha() for c in piece)
    )


def _assigned(scope: ast.FunctionDef | ast.Module) -> list[Branches]:
    values: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for node in _own(scope, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                values[target.id].append(texts([node.value]))
    return [tuple(found) for found in values.values()]


def _own(scope: ast.AST, kind: type[Node]) -> Iterator[Node]:
    """Nodes of one kind in a scope, without those of functions in it."""
    waiting: Sequence[ast.AST] = tuple(ast.iter_child_nodes(scope))
    while waiting:
        node, waiting = waiting[0], waiting[1:]
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, kind):
            yield node
        waiting = (*ast.iter_child_nodes(node), *waiting)
