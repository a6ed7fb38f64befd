"""Whether code comes to a call in the end, through functions, methods and objects of its own."""

import ast
from collections.abc import Iterator

from harness.syntax import walk

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def calls(tree: ast.AST) -> set[str]:
    """Last names of everything that is called."""
    return {last_name(node.func) for node in walk(tree) if isinstance(node, ast.Call)}


def last_name(node: ast.AST) -> str:
    """``step`` of ``self.optimizer.step`` and of ``step``; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def comes_to(part: ast.AST, tree: ast.Module, wanted: frozenset[str]) -> bool:
    """Whether a part of a tree calls one of these, itself or through what the tree defines.

    Names are enough: a method is told by its last name, whichever object it belongs to.
    """
    return bool(wanted & calls(part) or _mentioned(part) & _reaching(tree, wanted))


def _reaching(tree: ast.Module, wanted: frozenset[str]) -> set[str]:
    """Names of the tree's functions, classes and objects that come to such a call."""
    edges = list(_edges(tree))
    reached: set[str] = set()
    while found := {
        name
        for name, by in edges
        if name not in reached and (wanted & calls(by) or _mentioned(by) & reached)
    }:
        reached |= found
    return reached


def _edges(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Each name beside what is run, or handed on, where it is used."""
    functions = {n.name: n for n in walk(tree) if isinstance(n, _FUNCTIONS)}
    for node in walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node
            case ast.ClassDef():  # making, calling or entering one runs these
                own = (n for n in node.body if isinstance(n, _FUNCTIONS))
                yield from ((node.name, n) for n in own if n.name.startswith("__"))
            case ast.Assign(targets=[target]) | ast.withitem(optional_vars=target) if target:
                value = node.value if isinstance(node, ast.Assign) else node.context_expr
                held = target.value if isinstance(target, ast.Subscript) else target
                yield last_name(held), value
            case ast.Call(func=ast.Name(id="getattr"), args=[_, named, *_]):
                yield from _looked_up(named, tree)
            case ast.Call() if called := functions.get(last_name(node.func)):
                yield from _handed_over(node, called)
            case _:
                pass
    yield from _kept(tree, functions)


def _looked_up(named: ast.expr, tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The methods that ``getattr(trainer, phase)`` may find: any of them, where the name is computed."""
    methods = (
        node for cls in walk(tree) if isinstance(cls, ast.ClassDef)
        for node in cls.body if isinstance(node, _FUNCTIONS)
    )  # fmt: skip
    for method in methods:
        if not isinstance(named, ast.Constant) or named.value == method.name:
            yield "getattr", method


def _kept(tree: ast.Module, functions: dict[str, _Function]) -> Iterator[tuple[str, ast.AST]]:
    """The module's objects beside the functions that they may keep, to call them later."""
    objects = _objects(tree)
    for node in walk(tree):
        if isinstance(node, _FUNCTIONS):
            for decorator in node.decorator_list:
                yield from ((n, node) for n in objects & _involved(decorator, functions))
        elif isinstance(node, ast.Call):
            keepers = objects & _involved(node.func, functions) if node.args else ()
            yield from ((n, a) for n in keepers for a in node.args)


def _objects(tree: ast.Module) -> frozenset[str]:
    """What the module itself sets: objects that may keep what they are given."""
    targets = (t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets)
    return frozenset(t.id for t in targets if isinstance(t, ast.Name))


def _involved(by: ast.expr, functions: dict[str, _Function]) -> set[str]:
    """Names in a decorator or a method, and inside of the functions that they name:
    ``@events.on("window")``, ``handlers["window"].append``, ``@on_window`` that keeps it in a list.
    """
    mentioned = _mentioned(by)
    return mentioned.union(*(_mentioned(functions[n]) for n in mentioned & functions.keys()))


def _handed_over(call: ast.Call, function: _Function) -> Iterator[tuple[str, ast.AST]]:
    """What a call gives to each parameter: a function may be called under that name."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    bound = names[1:] if isinstance(call.func, ast.Attribute) else names
    yield from zip(bound, call.args, strict=False)
    yield from ((k.arg, k.value) for k in call.keywords if k.arg)


def _mentioned(tree: ast.AST) -> set[str]:
    return {last_name(n) for n in walk(tree) if isinstance(n, ast.Attribute | ast.Name)}
