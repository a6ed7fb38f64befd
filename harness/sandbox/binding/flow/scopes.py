"""Names and scopes: which names are local, which belong to the module, which nothing defines."""

import ast
from collections.abc import Iterable

from harness.sandbox.binding.flow.graph import Node
from harness.syntax import children, walk


class Scope:
    """A function, a comprehension or the module."""

    def __init__(self, parent: "Scope | None" = None, local: Iterable[str] = ()) -> None:
        """``local``: the names that belong to it."""
        self.parent = parent
        self.names: dict[str, Node] = {name: Node(name) for name in local}

    def find(self, name: str) -> Node | None:
        """The node of a name that is local to this scope or to one around it, except the module."""
        scope: Scope | None = self
        while scope is not None and scope.parent is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def holding(self, name: str) -> "Scope":
        """The scope that a name is local to; the module for all others."""
        scope = self
        while scope.parent is not None and name not in scope.names:
            scope = scope.parent
        return scope

    @property
    def module(self) -> "Scope":
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


COMPREHENSIONS = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(body: Iterable[ast.AST]) -> set[str]:
    """Names that statements bind in their own scope."""
    names: set[str] = set()
    foreign: set[str] = set()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            foreign.update(node.names)
        elif isinstance(node, COMPREHENSIONS):
            names |= _walruses(node)
            continue
        names |= _bound_by(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting.extend(node.decorator_list)
        else:
            waiting.extend(children(node))
    return names - foreign


def _bound_by(node: ast.AST) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Name(id=name, ctx=ast.Store()):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return {name}
        case ast.MatchStar(name=str(name)):
            return {name}
        case _:
            return set()


def globals_in(tree: ast.AST) -> set[str]:
    """Names that functions declare ``global``."""
    return {name for node in walk(tree) if isinstance(node, ast.Global) for name in node.names}


def _walruses(node: ast.AST) -> set[str]:
    return {
        inner.target.id
        for inner in walk(node)
        if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name)
    }


def is_placeholder(value: ast.expr | None) -> bool:
    """Whether the assigned value is a placeholder for the reader's own: ``name = ...``."""
    return isinstance(value, ast.Constant) and value.value is ...


def is_stub(tree: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether the body of a definition is empty: a docstring, ``...`` or ``pass``."""
    if isinstance(tree, ast.ClassDef):
        bases = [ast.unparse(base) for base in tree.bases]
        if not bases or any(not base.endswith(("Module", "Dataset")) for base in bases):
            return False
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Raise) and "NotImplemented" in ast.dump(statement))
        for statement in tree.body
    )
