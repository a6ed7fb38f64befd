"""Networks that are to be kept, and are only given another name: ``best_model = model``."""

import ast
import re
from collections.abc import Iterator

from harness.syntax import dotted, tree_of, walk

KEPT = re.compile(r"(^|_)(best|target|old|prev|previous|ema|averaged?|backup|snapshot|frozen)(_|$)")
"""Names of what is to stay as it is while another one is trained."""


def another_name(source: str) -> str | None:
    """The first assignment in a loop by which a network that is trained on gets a second name, which
    is read elsewhere; ``None`` where there is none.
    """
    try:
        tree = tree_of(source)
    except SyntaxError:
        return None
    for loop in (n for n in walk(tree) if isinstance(n, ast.For | ast.While)):
        for body in _bodies(loop):
            for node in body:
                if _keeps(node, source) and _is_read_outside(node, body, tree):
                    return ast.unparse(node)
    return None


def _keeps(node: ast.stmt, source: str) -> bool:
    match node:
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute() as kept],
            value=ast.Name() | ast.Attribute() as network,
        ):
            name, of = dotted(kept), dotted(network)
            trained = _says(source, of, r"\.(parameters|train)\(")
            called = _says(source, of, r"\(") and _says(source, name, r"\(")
            return bool(of and (trained or called) and KEPT.search(name.rpartition(".")[2].lower()))
    return False


def _says(source: str, name: str, what: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}{what}", source) is not None


def _is_read_outside(node: ast.stmt, body: list[ast.stmt], tree: ast.AST) -> bool:
    """Whether the kept name is used where training may have gone on, and the other is one network."""
    if not isinstance(node, ast.Assign):
        return False
    kept, network = dotted(node.targets[0]), dotted(node.value)
    if any(isinstance(n, ast.Break | ast.Return) for n in body):
        return False  # nothing is trained after it
    here = {id(n) for statement in body for n in walk(statement)}
    read = any(
        dotted(n) == kept and isinstance(n.ctx, ast.Load) and id(n) not in here
        for n in walk(tree) if isinstance(n, ast.Name | ast.Attribute)
    )  # fmt: skip
    loops = (n for n in walk(tree) if isinstance(n, ast.For | ast.While))
    return read and not any(network in _bound(loop) for loop in loops)


def _bodies(loop: ast.AST) -> Iterator[list[ast.stmt]]:
    """The statements of a loop and of the branches in it."""
    for node in walk(loop):
        for name in ("body", "orelse"):
            found = getattr(node, name, None)
            if isinstance(found, list):
                yield found


def _bound(loop: ast.AST) -> set[str]:
    """Names that are bound anew in it."""
    names = (n for n in walk(loop) if isinstance(n, ast.Name | ast.Attribute))
    return {dotted(n) for n in names if isinstance(n.ctx, ast.Store)}
