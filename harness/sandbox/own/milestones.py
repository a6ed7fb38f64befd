"""Steps from which on a program freezes or thaws, which come after more updates than a run makes."""

import ast
import re
from collections.abc import Iterator

from harness.syntax import dotted, walk

COUNTER = re.compile(r"(global_|cur_|current_|n_|num_|total_)?(step|iteration|iter|it|update)s?")
"""Names of what counts steps."""

CHANGES = re.compile(r"freez|froz|thaw|requires_grad|add_param_group", re.IGNORECASE)
"""What is done from then on."""

LATE = 12
"""A run makes more updates than this."""

EVERY = 4
"""So many steps apart they come."""

MOST = 3
"""More of them are no milestones."""


def come_soon(tree: ast.Module) -> list[str]:
    """Lower such numbers in place, in their order; says which."""
    found = [one for node in walk(tree) if isinstance(node, ast.If) for one in _asked(node)]
    values = sorted({value for _, value in found})
    if len(values) > MOST:
        return []
    soon = {value: EVERY * (n + 1) for n, value in enumerate(values)}
    for constant, value in found:
        constant.value = soon[value]
    return [f"sooner: step {value} -> {soon[value]}" for value in values]


def _asked(branch: ast.If) -> Iterator[tuple[ast.Constant, int]]:
    """Numbers that a counter is compared with, where the branch freezes or thaws."""
    if not any(CHANGES.search(ast.unparse(statement)) for statement in branch.body):
        return
    for node in walk(branch.test):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            counts = any(COUNTER.fullmatch(dotted(one).rpartition(".")[2]) for one in sides)
            for one in sides if counts else ():
                if (
                    isinstance(one, ast.Constant)
                    and isinstance(one.value, int)
                    and one.value > LATE
                ):
                    yield one, one.value
