"""Pieces into which a program cuts a batch: rows that are lent are few, and would all be one piece."""

import ast
from collections.abc import Iterator

from harness.sandbox.names.table import table
from harness.sandbox.own.sizes import sizes_in
from harness.syntax import dotted, walk

PIECE = 2
"""Rows of a piece."""


def make_small(tree: ast.Module) -> list[str]:
    """Lower, in place, the sizes of pieces; says which."""
    asked = [one for node in walk(tree) for one in _sizes_asked(node)]
    names = {dotted(one).rpartition(".")[2].lower() for one in asked}
    given = [(size.name, size.constant) for size in sizes_in(tree) if size.name in names]
    given += [("pieces of", one) for one in asked if isinstance(one, ast.Constant)]
    said: dict[str, None] = {}
    for name, constant in given:
        if isinstance(value := constant.value, int) and value > PIECE:
            constant.value = PIECE
            said.setdefault(f"shrunk: {name} {value} -> {PIECE}")
    return [*said]


def _sizes_asked(node: ast.AST) -> Iterator[ast.expr]:
    """``rows.split(chunk)``, or ``range(0, n, chunk)`` of which ``rows[i : i + chunk]`` is taken."""
    found: ast.expr | None = None
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr="split"), args=[_, size, *_]
        ):
            found = size
        case ast.Call(func=ast.Attribute(attr="split"), args=[size, *_]):
            found = size
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[_, _, size])):
            found = size if _is_cut_out(node, ast.unparse(size)) else None
    number = isinstance(found, ast.Constant) and type(found.value) is int
    if found is not None and (number or isinstance(found, ast.Name | ast.Attribute)):
        yield found


def _is_cut_out(loop: ast.For, size: str) -> bool:
    """Whether rows are cut out in that size; what is cut out of a list of batches is a window."""
    for node in walk(loop):
        match node:
            case ast.Subscript(
                value=rows, slice=ast.Slice(upper=ast.BinOp(left=left, op=ast.Add(), right=right))
            ) if size in (ast.unparse(left), ast.unparse(right)):
                return table().part(dotted(rows)) in ("input", "target")
    return False
