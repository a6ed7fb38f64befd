"""Whole numbers that a program gives under a name: constants, defaults, keywords, options, entries."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.sandbox.branches.reading import given_in
from harness.syntax import walk

WHOLE = re.compile(
    r"(effective|total|global|target|virtual|logical|desired)_?(train_?)?(batch(_?size)?|bs|bsz)"
)
"""Names of how many rows an update gathers from several batches."""

BATCH = re.compile(r"((micro|mini|train|device|per_device|physical)_?)*(batch(_?size)?|bs|bsz)")
"""Names of how many rows one batch holds."""


PASSES = re.compile(
    r"((n|nr|num|max|total|train|num_train)_?)?(epochs|epoch_count|n_?epoch)|epoch_num"
)
"""Names of how often a program goes through its data."""


@dataclass(frozen=True, slots=True)
class Size:
    """A number that a program gives under a name."""

    name: str
    """The name in lower case, with underscores."""
    constant: ast.Constant
    """Where it stands in the tree."""
    value: int
    """The number."""


def sizes_in(tree: ast.AST) -> Iterator[Size]:
    """All of them; what is multiplied out of several numbers is one."""
    nodes = walk(tree)
    if any(isinstance(n, ast.BinOp) and isinstance(n.right, ast.Constant) for n in nodes):
        nodes = walk(_Folding().visit(tree))
    for node in nodes:
        for name, value in given_in(node):
            if isinstance(value, ast.Constant) and type(value.value) is int:
                yield Size(name.lower(), value, value.value)


def passes_in(tree: ast.AST) -> int | None:
    """How often a program goes through its data, where it names one such number above 1."""
    named = {size.value for size in sizes_in(tree) if PASSES.fullmatch(size.name)}
    return named.pop() if len(named) == 1 and max(named) > 1 else None


def gathered_by(sizes: Iterable[Size]) -> int:
    """How many batches the whole batch of an update holds, where a program names both sizes; else 1."""
    named = [*sizes]
    whole = {size.value for size in named if WHOLE.fullmatch(size.name)}
    parts = {s.value for s in named if BATCH.fullmatch(s.name) and not WHOLE.fullmatch(s.name)}
    counts = {w // p for w in whole for p in parts if p > 0 and w % p == 0}
    return counts.pop() if len(counts) == 1 else 1


class _Folding(ast.NodeTransformer):
    """``5 * 8`` is a number."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(ast.Constant(value=int(a)), ast.Mult(), ast.Constant(value=int(b))):
                return ast.copy_location(ast.Constant(a * b), node)
        return node
