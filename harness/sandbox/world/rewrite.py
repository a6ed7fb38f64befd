"""Small changes to a program that no namespace can make. They keep line numbers and meaning."""

import ast
from dataclasses import dataclass, field
from typing import cast

from harness.sandbox.world.reading import DEFINITIONS
from harness.syntax import fields_of

DEVICE, CONTEXT, GENERATOR = "__device__", "__device_context__", "__generator__"
LATER, TURNS = "__later__", "__turns__"


@dataclass(slots=True)
class Changes:
    """What to change; nodes of the tree are keys by identity."""

    renamed: dict[int, str] = field(default_factory=dict)
    """Calls, each with the name to call instead."""
    compares: str | None = None
    """The function to call for ``a == b`` and ``a.eq(b)``."""
    removed: set[int] = field(default_factory=set)
    """Statements to leave out: placeholders, and imports that cannot be executed."""
    late: dict[str, int] = field(default_factory=dict)
    """Names to bind before the module-level statement with that index."""
    turns_from: int | None = None
    """Index of the module-level statement from which on the program is the body of a loop that it
    does not show.
    """


def rewrite(tree: ast.Module, changes: Changes) -> ast.Module:
    """The program with the changes made."""
    body = _with_late(tree.body, changes)
    if changes.turns_from is not None:
        body = _as_turns(body, tree.body[changes.turns_from])
    tree.body = body
    changed = cast("ast.Module", _Rewriter(changes).visit(tree))
    if not changed.body:
        changed.body = [ast.Pass()]
    return ast.fix_missing_locations(changed)


def _with_late(body: list[ast.stmt], changes: Changes) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for index in range(len(body) + 1):
        for name, place in changes.late.items():
            if place == index:
                call = ast.Call(ast.Name(LATER, ast.Load()), [ast.Constant(name)], [])
                made = ast.Assign([ast.Name(name, ast.Store())], call)
                line = body[min(index, len(body) - 1)]
                found.append(ast.copy_location(made, line))
        if index < len(body):
            found.append(body[index])
    return found


def _as_turns(body: list[ast.stmt], first: ast.stmt) -> list[ast.stmt]:
    start = next(i for i, statement in enumerate(body) if statement is first)
    outside = [s for i, s in enumerate(body) if i < start or isinstance(s, DEFINITIONS)]
    inside = [s for s in body[start:] if not isinstance(s, DEFINITIONS)]
    loop = ast.For(ast.Name("_", ast.Store()), ast.Name(TURNS, ast.Load()), inside, [])
    return [*outside, ast.copy_location(loop, first)]


class _Rewriter(ast.NodeTransformer):
    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """The same as of any transformer that takes nothing away, without a look at every constant."""
        for name in fields_of(node.__class__):
            value = getattr(node, name, None)
            if isinstance(value, list):
                value[:] = [self.visit(n) if isinstance(n, ast.AST) else n for n in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def visit(self, node: ast.AST) -> ast.AST:
        if id(node) in self._changes.removed:
            return ast.copy_location(ast.Pass(), node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_placeholder(node.value):
            return ast.copy_location(ast.Pass(), node)
        known = id(node)
        changed = self.generic_visit(node)
        compared = _compared(changed) if self._changes.compares is not None else None
        if compared is not None:
            same = ast.Call(ast.Name(self._changes.compares or "", ast.Load()), compared, [])
            return ast.copy_location(same, changed)
        if isinstance(changed, ast.Call) and known in self._changes.renamed:
            changed.func = ast.copy_location(
                ast.Name(self._changes.renamed[known], ast.Load()), changed.func
            )
        return changed


def _compared(node: ast.AST) -> list[ast.expr] | None:
    """The two sides of ``a == b`` and ``a.eq(b)``; a constant is on neither."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            sides = [left, right]
        case ast.Call(func=ast.Attribute(value=left, attr="eq"), args=[right], keywords=[]):
            sides = [left, right]
        case _:
            return None
    return None if any(isinstance(side, ast.Constant) for side in sides) else sides


def _is_placeholder(value: ast.expr | None) -> bool:
    """Whether the assigned value stands for the reader's own: ``name = ...``."""
    return isinstance(value, ast.Constant) and value.value is ...
