"""Which names a piece of code needs, and which it brings: by ``ast`` and ``symtable``."""

import ast
import builtins
import functools
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

from harness.syntax import source_of, walk

_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What gives a name to code."""

_WITHOUT_EFFECT = (*DEFINITIONS, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement at module level."""

    node: ast.stmt
    """The statement."""
    binds: frozenset[str]
    """Names that exist afterwards."""
    needs: frozenset[str]
    """Names that have to exist before it."""
    needs_later: frozenset[str]
    """Names that have to exist when a function that it defines is called."""

    @property
    def defines(self) -> bool:
        """Whether it is a function, a class, an import or a constant, and so has no effect by itself."""
        return isinstance(self.node, _WITHOUT_EFFECT) or _is_constant(self.node)


@functools.lru_cache(16)
def statements(tree: ast.Module) -> tuple[Statement, ...]:
    """All statements at module level. The tree is nobody's to change."""
    return tuple(_statement(node) for node in tree.body)


def free_names(parts: tuple[Statement, ...]) -> frozenset[str]:
    """Names that the program uses and does not define."""
    bound: set[str] = set()
    free: set[str] = set()
    for part in parts:
        free |= part.needs - bound
        bound |= part.binds
    for part in parts:
        free |= part.needs_later - bound
    return frozenset(free - _BUILTINS)


def bound_names(parts: tuple[Statement, ...]) -> frozenset[str]:
    """Names that exist after the program."""
    return frozenset().union(*(part.binds for part in parts))


def _statement(node: ast.stmt) -> Statement:
    table = symtable.symtable(source_of(node), "block", "exec")
    symbols = table.get_symbols()
    binds = {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
    needs = {s.get_name() for s in symbols if s.is_referenced()}
    later: set[str] = set()
    for child in table.get_children():
        now, then = _inner(child)
        needs |= now
        later |= then
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        needs -= binds  # a loop binds what its body uses; an assignment reads before it binds
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        needs.add(node.target.id)
    return Statement(node, frozenset(binds), frozenset(needs), frozenset(later - binds))


def _inner(table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """Names of the module that an inner scope needs now (a class), and when it is called."""
    used = {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    now, later = (used, set()) if table.get_type() == "class" else (set(), used)
    for child in table.get_children():
        child_now, child_later = _inner(child)
        later |= child_later
        now, later = (
            (now | child_now, later) if table.get_type() == "class" else (now, later | child_now)
        )
    return now, later


def _is_constant(node: ast.stmt) -> bool:
    """``EPS = 1e-6``: an assignment of something that is written out."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    return all(isinstance(n, _LITERAL) for n in walk(node.value))


_LITERAL = (
    ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.UnaryOp, ast.BinOp, ast.operator,
    ast.unaryop,
)  # fmt: skip


def placeholders(tree: ast.Module) -> Iterator[ast.stmt]:
    """Module-level statements that stand for something of the reader's: ``model = ...``,
    ``train(...)``.
    """
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) and node.value is not None:
            bare = isinstance(node.value, ast.Constant) and node.value.value is ...
            if bare or any(_leaves_out(n) for n in walk(node.value)):
                yield node


def _leaves_out(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(
        isinstance(a, ast.Constant) and a.value is ... for a in node.args
    )
