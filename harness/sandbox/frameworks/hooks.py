"""Lightning hooks posted without their class: they are put into a LightningModule."""

import ast
from typing import TypeGuard

from harness.syntax import dotted, tree_of, walk

HOOKS = frozenset({
    "training_step", "configure_gradient_clipping", "on_before_optimizer_step", "on_after_backward",
    "on_before_zero_grad", "optimizer_step", "optimizer_zero_grad", "configure_optimizers",
})  # fmt: skip
"""Names by which a function without a class is recognised as a hook."""

_CLASS = """
import lightning.pytorch as pl
class MyModel(pl.LightningModule): ...
"""


def gather(tree: ast.Module) -> ast.Module:
    """The program with its loose hooks as methods of a module that trains as usual."""
    loose = [s for s in tree.body if _is_method(s)]
    others = any(isinstance(node, ast.ClassDef) for node in walk(tree))
    if not HOOKS & {s.name for s in loose} or others or any(map(_trains_itself, loose)):
        return tree
    imported, made = tree_of(_CLASS).body
    assert isinstance(made, ast.ClassDef)
    made.body = [*loose]
    for new in (imported, made):
        ast.copy_location(new, loose[0])
    place = tree.body.index(loose[0])
    rest = [s for s in tree.body if s not in loose]
    before = sum(tree.body.index(s) < place for s in rest)
    body = [*rest[:before], imported, made, *rest[before:]]
    return ast.fix_missing_locations(ast.Module(body, tree.type_ignores))


def _trains_itself(method: ast.FunctionDef) -> bool:
    """Whether it goes backward from its loss and steps an optimizer of its own."""
    calls = {dotted(n) for n in walk(method) if isinstance(n, ast.Call)}
    steps = any(c.startswith("self.") and c.endswith(".step") for c in calls)
    return steps and any(c.endswith(".backward") for c in calls)


def _is_method(statement: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    if not isinstance(statement, ast.FunctionDef):
        return False
    first = [*statement.args.posonlyargs, *statement.args.args][:1]
    return bool(first) and first[0].arg == "self"
