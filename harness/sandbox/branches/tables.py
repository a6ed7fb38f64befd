"""Tables of numbers that a program looks things up in: ``{0: 1.0, 100: 50.0}.get(step, max_norm)``."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from harness.syntax import walk

Column = frozenset[float]

Tables = dict[str, tuple[Column, ...]]
"""The columns of each table, by the last component of its name."""

READS = frozenset({"get", "next", "max", "min"})
"""Calls that look something up."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One expression that takes a number out of a table."""

    mark: int
    """Its mark."""
    node: ast.expr
    """The expression, as it was written."""
    columns: tuple[Column, ...]
    """What may come out, column by column."""

    def unread(self, looked: Iterable[tuple[int, float]]) -> Column:
        """Numbers of the column that was read which never came out."""
        seen = {value for mark, value in looked if mark == self.mark}
        column = max(self.columns, key=lambda numbers: len(numbers & seen))
        return column - seen if column & seen else frozenset()


def tables(nodes: Iterable[ast.AST]) -> Tables:
    """Tables that are given a name."""
    found: Tables = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            columns = _columns(node.value)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name for target in targets if (name := _named(target)) is not None]
            found.update(dict.fromkeys(names, columns) if columns else {})
    return found


def looked_up(node: ast.AST, known: Tables) -> tuple[Column, ...]:
    """The columns of the table that an expression takes a number out of; none where it does not."""
    match node:
        case ast.Subscript(slice=ast.Constant(), value=ast.Name() | ast.Attribute()):
            return ()  # always the same entry
        case ast.Subscript():
            pass
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in READS:
            pass
        case _:
            return ()
    for part in walk(node):
        columns = known.get(_named(part) or "") or (
            _columns(part) if isinstance(part, ast.Dict | ast.List | ast.Tuple) else ()
        )
        if columns:
            return columns
    return ()


def _named(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _columns(value: ast.expr) -> tuple[Column, ...]:
    match value:
        case ast.Dict(keys=keys, values=values):
            rows = [[_number(v)] for v in values if all(_number(k) is not None for k in keys)]
        case ast.List(elts=values) | ast.Tuple(elts=values):
            rows = [_row(v) for v in values]
        case _:
            return ()
    width = {len(row) for row in rows}
    if len(rows) < 2 or len(width) != 1 or any(None in row for row in rows):
        return ()
    return tuple(
        frozenset(n for n in column if n is not None) for column in zip(*rows, strict=True)
    )


def _row(value: ast.expr) -> list[float | None]:
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    return [_number(part) for part in parts]


def _number(value: ast.expr | None) -> float | None:
    match value:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -float(number)
    return None
