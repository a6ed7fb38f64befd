"""Functions of a program that torch calls later: hooks, closures of a step, its own backward passes.

What they read has changed by then, or they leave out what they are called with.
"""

import ast
from collections.abc import Iterator

from harness.syntax import dotted, tree_of, walk

DRAWS = frozenset({"next", "randint", "randperm", "sample", "multinomial", "choice"})
"""What gives other rows at each call."""

_BOUND_LATE = (
    "all these hooks read `{name}` when backward runs, and then it is the last one's; bind it as the "
    "hook is made: `lambda grad, {name}={name}: ...`"
)
_DRAWN = (
    "one step of LBFGS calls its closure many times, and each time it is another loss; draw the rows "
    "before the step"
)
_IGNORED = (
    "it never reads `{name}`, so whatever comes behind it (a loss's factor, the layers above) is lost; "
    "multiply with it"
)

_Function = ast.Lambda | ast.FunctionDef


def called_later(source: str) -> tuple[str, str] | None:
    """The first function that does not do what was meant when torch calls it, and why."""
    tree = tree_of(source)
    readings = (_bound_late(tree), _draws_anew(tree, source), _ignores_its_gradient(tree))
    return next((found for found in readings if found is not None), None)


def _bound_late(tree: ast.AST) -> tuple[str, str] | None:
    """Hooks of a loop that read what the loop binds: by the time of backward that is the last one's."""
    for loop in (n for n in walk(tree) if isinstance(n, ast.For)):
        hooks = list(_hooks(loop))
        if not hooks or any(_ends_with(call, ".backward", ".remove") for call in _calls(loop)):
            continue
        changing = _changing(loop)
        for call, function in hooks:
            if names := sorted(_returned(function) & changing - _given(function)):
                return ast.unparse(call).splitlines()[0], _BOUND_LATE.format(name=names[0])
    return None


def _hooks(loop: ast.For) -> Iterator[tuple[ast.Call, _Function]]:
    """Calls inside a loop that register a function which is made there."""
    made = {n.name: n for n in walk(loop) if isinstance(n, ast.FunctionDef)}
    for call in _calls(loop):
        name = dotted(call.func).rpartition(".")[2]
        if name.startswith("register_") and name.endswith("hook") and call.args:
            given = call.args[0]
            function = made.get(given.id) if isinstance(given, ast.Name) else given
            if isinstance(function, _Function):
                yield call, function


def _changing(loop: ast.For) -> set[str]:
    """Names that a loop binds, and what it computes of them."""
    found = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)}
    bound = [n for n in walk(loop) if isinstance(n, ast.Assign | ast.For)]
    for _ in bound:
        for one in bound:
            value = one.value if isinstance(one, ast.Assign) else one.iter
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            if _loaded(value) & found:
                found |= {n.id for t in targets for n in walk(t) if isinstance(n, ast.Name)}
    return found


def _returned(function: _Function) -> set[str]:
    """Names that decide about what it returns; what a hook prints changes no training."""
    if isinstance(function, ast.Lambda):
        gone = isinstance(function.body, ast.Call) and _ends_with(
            function.body, "print", ".append", ".log", ".add_scalar", ".setdefault", ".update"
        )
        return set() if gone else _loaded(function.body)
    values = (n.value for n in walk(function) if isinstance(n, ast.Return) and n.value)
    return set().union(*map(_loaded, values))


def _given(function: _Function) -> set[str]:
    """Its arguments, and what it binds itself."""
    stored = {n.id for n in walk(function) if isinstance(n, ast.Name) and not _is_load(n)}
    return stored | {n.arg for n in walk(function) if isinstance(n, ast.arg)}


def _draws_anew(tree: ast.AST, source: str) -> tuple[str, str] | None:
    """A closure for LBFGS that draws its rows: one step calls it many times."""
    if "LBFGS" not in source:
        return None
    functions = {n.name: n for n in walk(tree) if isinstance(n, ast.FunctionDef)}
    for call in _calls(tree):
        given = call.args[0] if _ends_with(call, ".step") and call.args else None
        closure = functions.get(given.id) if isinstance(given, ast.Name) else None
        for drawn in _calls(closure) if closure is not None else ():
            of_a_model = ".parameters(" in ast.unparse(drawn)  # to ask where it lies
            if dotted(drawn.func).rpartition(".")[2] in DRAWS and not of_a_model:
                return ast.unparse(drawn), _DRAWN
    return None


def _ignores_its_gradient(tree: ast.AST) -> tuple[str, str] | None:
    """A backward that computes a derivative and never reads the gradient which it is called with."""
    for cls in (n for n in walk(tree) if isinstance(n, ast.ClassDef)):
        if not any(dotted(base).rpartition(".")[2] == "Function" for base in cls.bases):
            continue
        for method in cls.body:
            if isinstance(method, ast.FunctionDef) and method.name == "backward":
                own = method.args
                given = {a.arg for a in [*own.args[1:], *([own.vararg] if own.vararg else [])]}
                read = set().union(*map(_loaded, method.body))
                if given and not given & read and "saved_tensors" in ast.unparse(method):
                    return f"{cls.name}.backward", _IGNORED.format(name=min(given))
    return None


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (n for n in walk(tree) if isinstance(n, ast.Call))


def _ends_with(call: ast.Call, *ends: str) -> bool:
    return dotted(call.func).endswith(ends)


def _is_load(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _loaded(tree: ast.AST) -> set[str]:
    return {n.id for n in walk(tree) if isinstance(n, ast.Name) and _is_load(n)}
