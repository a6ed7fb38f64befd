"""Gradients that are measured once they were cleared, by the text.

Between a clearing and the next backward there is nothing to measure: norms that are taken there are
all zero, or of no parameter.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.syntax import blocks, dotted, tree_of, walk

MEASURES = frozenset({"norm", "abs", "pow", "square", "std", "mean", "max", "sum"})
"""What is asked of a gradient by those who measure it."""

SAME = re.compile(r"\.grad(?:\.(?:data|detach|float|double|clone|flatten|view))*$")
"""A gradient, also in another form."""

KNOWN = frozenset({*dir(builtins), "clip_grad_norm_", "get_total_norm"})
"""Functions of which it is known that they compute no gradient."""

DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
"""What runs nothing where it stands."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a program measures of its parameters. An input keeps its gradient when they are cleared."""

    parameters: frozenset[str]
    """Names of parameters."""

    def measures(self, tree: ast.AST) -> bool:
        """Whether it asks a parameter's gradient for its size: ``p.grad.norm()``."""
        asked = (n for n in walk(tree) if isinstance(n, ast.Attribute) and n.attr in MEASURES)
        owners = (SAME.split(of)[0] for n in asked if SAME.search(of := dotted(n.value)))
        return any(o in self.parameters or o.endswith((".weight", ".bias")) for o in owners)


def read_too_late(source: str) -> str | None:
    """The first statement that measures gradients which the only optimizer has just cleared."""
    tree = tree_of(source)
    if len({dotted(n) for n in walk(tree) if _clears(n)}) != 1:
        return None
    functions = {s.name: s for s in walk(tree) if isinstance(s, ast.FunctionDef)}
    reading = Reading(frozenset(_parameters(tree)))
    readers = {n for n, f in functions.items() if reading.measures(f) and not _computes(f, set())}
    for block in _blocks(tree):
        late = _late(block, readers, reading)
        if late is not None:
            return ast.unparse(late).splitlines()[0].rstrip(":")
    return None


def _late(block: Sequence[ast.stmt], readers: set[str], reading: Reading) -> ast.stmt | None:
    cleared = False
    for one in block:
        if isinstance(one, ast.Expr) and _clears(one.value):
            cleared = True
        elif isinstance(one, DEFINITIONS) or not cleared:
            continue
        elif _computes(one, readers):
            cleared = False
        elif reading.measures(one) or _called(one) & readers:
            return None if isinstance(one, ast.Assert) else one
    return None


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    yield tree.body
    for node in walk(tree):
        if isinstance(node, ast.stmt):
            yield from blocks(node)


def _clears(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node).endswith(".zero_grad")


def _parameters(tree: ast.Module) -> Iterator[str]:
    """Names under which loops go through parameters."""
    for node in walk(tree):
        if isinstance(node, ast.For | ast.comprehension) and "param" in ast.unparse(node.iter):
            yield from (n.id for n in walk(node.target) if isinstance(n, ast.Name))


def _computes(tree: ast.AST, readers: set[str]) -> bool:
    """Whether gradients may be new after it: by a backward, or in what is not shown here."""
    own = any(
        isinstance(n, ast.Attribute) and (n.attr in ("backward", "manual_backward") or _writes(n))
        for n in walk(tree)
    )
    return own or bool(_called(tree) - KNOWN - readers)


def _writes(node: ast.Attribute) -> bool:
    """Whether it gives a gradient another value: ``p.grad = g``, ``p.grad.copy_(g)``."""
    in_place = node.attr.endswith("_") and node.attr != "zero_" and SAME.search(dotted(node.value))
    return bool(in_place) or (
        isinstance(node.ctx, ast.Store) and SAME.search(dotted(node)) is not None
    )


def _called(tree: ast.AST) -> set[str]:
    """Functions that are called by their own name, and methods of ``self``."""
    calls = [n.func for n in walk(tree) if isinstance(n, ast.Call)]
    own = {f.attr for f in calls if isinstance(f, ast.Attribute) and dotted(f.value) == "self"}
    return own | {f.id for f in calls if isinstance(f, ast.Name)}
