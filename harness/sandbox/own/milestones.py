"""Steps from which on a program freezes, thaws or sets other rates, which come after more updates than
a run makes.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from harness.syntax import dotted, walk

COUNTER = re.compile(r"(global_|cur_|current_|n_|num_|total_)?(step|iteration|iter|it|update)s?")
"""Names of what counts steps."""

FREEZES = re.compile(r"freez|froz|thaw|requires_grad|add_param_group", re.IGNORECASE)
"""What is done from then on."""

SETS = re.compile(r"\[['\"]lr['\"]\] = ")
"""What a warm-up does until then; it may end in the second pass only."""

LATE = 12
"""A run makes more updates than this, and a pass of what is lent not many more."""

EVERY = 4
"""So many steps apart they come."""

MOST = 3
"""More of them are no milestones."""


def come_soon(tree: ast.Module) -> list[str]:
    """Lower such numbers in place, in their order; says which."""
    named = _named(tree)
    branches = (node for node in walk(tree) if isinstance(node, ast.If))
    found = [one for node in branches for one in _asked(node, named)]
    values = sorted({value for _, value in found})
    if len(values) > MOST:
        return []
    first = 0 if any(isinstance(n, ast.If) and _freezes(n) for n in walk(tree)) else LATE
    soon = {value: first + EVERY * (n + 1) for n, value in enumerate(values)}
    for constant, value in found:
        constant.value = soon[value]
    return [f"sooner: step {value} -> {soon[value]}" for value in values]


def _freezes(branch: ast.If) -> bool:
    return any(FREEZES.search(ast.unparse(statement)) for statement in branch.body)


def _named(tree: ast.Module) -> dict[str, ast.Constant]:
    """Numbers by the names that are bound to them, and to nothing else."""
    stored = Counter(
        n.id for n in walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    pairs = [
        pair
        for n in walk(tree)
        if isinstance(n, ast.Assign)
        for pair in _pairs(n.targets[0], n.value)
    ]
    return {
        target.id: value
        for target, value in pairs
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant)
        if stored[target.id] == 1
    }


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each with its value, also of ``lr, steps = 1e-3, 500``."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def _asked(branch: ast.If, named: Mapping[str, ast.Constant]) -> Iterator[tuple[ast.Constant, int]]:
    """Numbers that a counter is compared with, where the branch changes what is trained, or how fast."""
    if not (_freezes(branch) or any(SETS.search(ast.unparse(s)) for s in branch.body)):
        return
    for node in walk(branch.test):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            counts = any(COUNTER.fullmatch(dotted(one).rpartition(".")[2]) for one in sides)
            for one in sides if counts else ():
                number = named.get(one.id) if isinstance(one, ast.Name) else one
                value = number.value if isinstance(number, ast.Constant) else None
                if isinstance(number, ast.Constant) and type(value) is int and value > LATE:
                    yield number, value
