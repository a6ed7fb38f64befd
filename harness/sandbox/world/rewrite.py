"""Small changes to a program that no namespace can make. They keep line numbers and meaning."""

import ast
from collections.abc import Container, Mapping

from harness.sandbox.world.reading import DEFINITIONS
from harness.syntax import walk

LATER, TURNS = "__later__", "__turns__"


def with_late(tree: ast.Module, late: Mapping[str, int]) -> None:
    """Bind names before the module-level statement with that index."""
    found: list[ast.stmt] = []
    for index in range(len(tree.body) + 1):
        for name, place in late.items():
            if place == index:
                call = ast.Call(ast.Name(LATER, ast.Load()), [ast.Constant(name)], [])
                made = ast.Assign([ast.Name(name, ast.Store())], call)
                line = tree.body[min(index, len(tree.body) - 1)]
                found.append(ast.copy_location(made, line))
        found += tree.body[index : index + 1]
    tree.body = found
    ast.fix_missing_locations(tree)


def as_turns(tree: ast.Module, first: ast.stmt, last: ast.stmt) -> None:
    """Module-level statements are the body of a loop that the program does not show."""
    start, end = (next(i for i, s in enumerate(tree.body) if s is one) for one in (first, last))
    outside = [s for i, s in enumerate(tree.body) if i < start or isinstance(s, DEFINITIONS)]
    shown = [s for s in tree.body[start:] if not isinstance(s, DEFINITIONS)]
    inside = [s for s in tree.body[start : end + 1] if not isinstance(s, DEFINITIONS)]
    loop = ast.For(ast.Name("_", ast.Store()), ast.Name(TURNS, ast.Load()), inside, [])
    tree.body = [*outside, ast.copy_location(loop, first), *shown[len(inside) :]]
    ast.fix_missing_locations(tree)


def leave_out(tree: ast.Module, removed: Container[int]) -> None:
    """Have statements do nothing: placeholders, and those ``removed``, by identity."""
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
