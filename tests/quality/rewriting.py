"""Rewriting programs without changing what they do."""

import ast
import builtins
from collections.abc import Iterator

from harness.sandbox.names.table import table
from harness.sandbox.world.reading import ProgramReading

LIBRARY = frozenset(
    {"torch", "nn", "F", "pl", "DDP", "GradScaler", "autocast", "clip_grad_norm_", "nullcontext"}
)
"""Names that mean something without an import because everybody imports them so."""


def renamed(program: str) -> str:
    """What the program binds itself is called ``v0``, ``v1``, ...; its free names are a contract.

    Kept too: what is imported, builtins, ``LIBRARY``, attributes and the names of methods, keywords of
    calls into libraries. Keywords of calls of the program's own functions follow their parameters.
    """
    tree = ast.parse(program)
    kept = _imported(tree) | _contract(tree, program)
    renamer = _Renamer(kept, _own_callables(tree))
    return ast.unparse(renamer.visit(tree))


def _contract(tree: ast.Module, program: str) -> frozenset[str]:
    """Names that the reader brings: free ones, those read before they are bound, and parameters of
    functions and classes that nothing calls.
    """
    reading = ProgramReading(tree, program, table())
    uncalled = (f for f in reading.functions if f.tree.name not in reading.called)
    parameters = {a.arg for f in uncalled for a in f.wanted()}
    early = read_before_bound(
        [s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom)]
    )
    return frozenset({*reading.free, *early, *parameters})


def outlined(program: str, name: str = "train") -> str:
    """The whole program but its imports, as the body of a function that is called once."""
    tree = ast.parse(program)
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    body: list[ast.stmt] = [s for s in tree.body if s not in imports]
    shared = read_before_bound(body)
    if shared:
        body.insert(0, ast.Global(names=shared))
    function = ast.parse(f"def {name}():\n    pass\n\n{name}()")
    assert isinstance(function.body[0], ast.FunctionDef)
    function.body[0].body = body
    function.body[:0] = imports
    return ast.unparse(ast.fix_missing_locations(function))


def read_before_bound(body: list[ast.stmt]) -> list[str]:
    """Names that a body binds although it has read them before: ``model = DDP(model)``.

    In a function they would be local, and unbound when read; so they have to be declared global.
    """
    bound: set[str] = set()
    early: set[str] = set()
    for name, stored in _accesses(body):
        if stored:
            bound.add(name)
        elif name not in bound:
            early.add(name)
    return sorted(early & bound)


def _accesses(trees: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """Names of a body and whether they are stored, in the order of execution."""
    for tree in trees:
        yield from _accesses_of(tree)


def _accesses_of(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    if isinstance(tree, ast.Name):
        yield tree.id, isinstance(tree.ctx, ast.Store)
        return
    if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
        yield tree.target.id, False
    if isinstance(tree, ast.FunctionDef | ast.ClassDef):  # the body runs when it is called
        yield tree.name, True
        return
    if isinstance(tree, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda):
        return  # a scope of its own; none in the bank reads early
    children = list(ast.iter_child_nodes(tree))
    if isinstance(tree, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
        targets = tree.targets if isinstance(tree, ast.Assign) else [tree.target]
        value = tree.iter if isinstance(tree, ast.For) else tree.value
        first = [] if value is None else [value]
        children = [*first, *targets, *(c for c in children if c not in (*first, *targets))]
    for child in children:
        yield from _accesses_of(child)


def _imported(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _identifiers(tree: ast.Module) -> frozenset[str]:
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return frozenset(names) | _own_callables(tree)


def _own_callables(tree: ast.Module) -> frozenset[str]:
    """Functions, and classes that say themselves how they are made."""
    return frozenset(
        n.name
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef)
        or (isinstance(n, ast.ClassDef) and any(_makes(part) for part in n.body))
    )


def _makes(part: ast.stmt) -> bool:
    own = isinstance(part, ast.FunctionDef) and part.name == "__init__"
    return own or isinstance(part, ast.AnnAssign)  # a field of a dataclass


class _Renamer(ast.NodeTransformer):
    """One new name for each old one, in the order in which they are met, whatever the scope."""

    def __init__(
        self, kept: frozenset[str], own: frozenset[str], new: dict[str, str] | None = None
    ) -> None:
        self._kept = kept | LIBRARY | frozenset(dir(builtins)) | {"__name__"}
        self._own = own
        self._new = dict(new or {})

    def _name(self, old: str) -> str:
        return old if old in self._kept else self._new.setdefault(old, f"v{len(self._new)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._name(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self.generic_visit(node)
        node.arg = self._name(node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self._name(node.name)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        methods = {s: s.name for s in node.body if isinstance(s, ast.FunctionDef)}
        self.generic_visit(node)
        for method, name in methods.items():
            method.name = name
        node.name = self._name(node.name)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        node.name = node.name and self._name(node.name)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        return ast.Global([self._name(n) for n in node.names])

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        return ast.Nonlocal([self._name(n) for n in node.names])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        own = isinstance(node.func, ast.Name) and node.func.id in self._own
        self.generic_visit(node)
        for keyword in node.keywords if own else ():
            keyword.arg = keyword.arg and self._name(keyword.arg)
        return node
