"""Small changes to a program that no namespace can make. They keep line numbers and meaning."""

import ast
from dataclasses import dataclass, field

from harness.sandbox.world.reading import DEFINITIONS
from harness.syntax import walk

LATER, TURNS = "__later__", "__turns__"


@dataclass(slots=True)
class Changes:
    """What to change; nodes of the tree are keys by identity."""

    removed: set[int] = field(default_factory=set)
    """Statements to leave out: placeholders, and imports that cannot be executed."""
    late: dict[str, int] = field(default_factory=dict)
    """Names to bind before the module-level statement with that index."""
    turns_from: int | None = None
    """Index of the module-level statement from which on the program is the body of a loop that it
    does not show.
    """


def rewrite(tree: ast.Module, changes: Changes) -> ast.Module:
    """The program with the changes made, in place."""
    _leave_out(tree, changes.removed)
    body = _with_late(tree.body, changes) if changes.late else tree.body
    if changes.turns_from is not None:
        body = _as_turns(body, tree.body[changes.turns_from])
    if body is not tree.body:
        tree.body = body
        ast.fix_missing_locations(tree)
    return tree


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


def _leave_out(tree: ast.Module, removed: set[int]) -> None:
    """Statements that are not executed, placeholders among them, do nothing instead."""
    for node in walk(tree):
        for name in ("body", "orelse", "finalbody"):
            inner: object = getattr(node, name, None)
            if not isinstance(inner, list):
                continue
            for place, statement in enumerate(inner):
                if id(statement) in removed or _is_placeholder(statement):
                    inner[place] = ast.copy_location(ast.Pass(), statement)


def _is_placeholder(statement: ast.stmt) -> bool:
    """Whether it stands for the reader's own: ``name = ...``."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    return isinstance(statement.value, ast.Constant) and statement.value.value is ...
