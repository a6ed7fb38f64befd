"""Attributes whose name is computed: ``getattr(self, f"{phase}_step")``."""

import ast
import re
from collections.abc import Collection, Iterable

from harness.syntax import walk


def texts(tree: ast.Module) -> frozenset[str]:
    """Every text that is written in a program."""
    constants = (node.value for node in walk(tree) if isinstance(node, ast.Constant))
    return frozenset(value for value in constants if isinstance(value, str))


def names(tree: ast.expr, methods: Collection[str], said: Iterable[str]) -> dict[str, str]:
    """Which methods a computed name may mean, by the text that it is computed from: those with a text
    that the program writes, else all that fit.
    """
    pattern = _pattern(tree)
    fitting = [
        (name, found[1]) for name in sorted(methods)
        if not name.startswith("__") and (found := re.fullmatch(pattern, name))
    ]  # fmt: skip
    told = {part: name for name, part in fitting if part in said}
    return told or {part: name for name, part in fitting}


def computed_from(tree: ast.expr) -> ast.expr | None:
    """The one value that a name is computed from."""
    match tree:
        case ast.JoinedStr(values=parts):
            found = [part.value for part in parts if isinstance(part, ast.FormattedValue)]
        case ast.BinOp(left=left, right=right):
            found = [side for side in (left, right) if not isinstance(side, ast.Constant)]
        case _:
            found = [tree]
    return found[0] if len(found) == 1 else None


def _pattern(tree: ast.expr) -> str:
    match tree:
        case ast.Constant(value=str(text)):
            return f"({re.escape(text)})"
        case ast.JoinedStr(values=parts):
            pass
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [left, right]
        case _:
            parts = [tree]
    before = _written(parts[:1])
    after = _written(parts[-1:]) if len(parts) > 1 else ""
    return f"{re.escape(before)}(.+){re.escape(after)}"


def _written(parts: list[ast.expr]) -> str:
    match parts:
        case [ast.Constant(value=str(text))]:
            return text
    return ""
