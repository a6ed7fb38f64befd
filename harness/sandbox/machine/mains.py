"""Starters of programs: packages for command lines that are not installed, or that pass settings.

``fire.Fire(train)`` calls ``train`` with its defaults. Where a function wants more than that, as
``hydra.main`` gives it, nobody calls it, and it is started like one that the program only defines.
"""

import ast
import importlib.util

from harness.syntax import dotted, walk

CALLING = frozenset({
    "fire.Fire", "Fire", "tyro.cli", "jsonargparse.CLI", "jsonargparse.auto_cli", "auto_cli", "CLI",
    "draccus.parse", "simple_parsing.parse", "app.run", "absl.app.run", "typer.run",
})  # fmt: skip
"""Functions of such packages that call or instantiate what they are given."""

GIVING = frozenset({"hydra.main", "hydra_main", "draccus.wrap", "pyrallis.wrap", "run.main"})
"""Decorators that pass settings to a function."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def take_part(tree: ast.Module) -> ast.Module:
    """The program, rewritten to do what those packages would do."""
    functions = {s.name: s for s in tree.body if isinstance(s, Function)}
    given = {name for name, f in functions.items() if _drop_decorators(f)}
    nodes = walk(tree)
    calls = any(isinstance(n, ast.Call) and dotted(n.func) in CALLING for n in nodes)
    if not (given or calls):
        return tree
    _Starting(functions, given, _absent(nodes)).visit(tree)
    return ast.fix_missing_locations(tree)


def _drop_decorators(function: Function) -> bool:
    """Take away what hands over settings; whether there was any."""
    left = [d for d in function.decorator_list if dotted(d) not in GIVING]
    dropped = len(left) < len(function.decorator_list)
    function.decorator_list = left
    return dropped and bool(_wanted(function))


def _absent(nodes: list[ast.AST]) -> frozenset[str]:
    """Names by which packages are known that are not here."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {
                (a.asname or a.name).partition(".")[0] for a in node.names if _is_absent(a.name)
            }
        elif isinstance(node, ast.ImportFrom) and node.module and _is_absent(node.module):
            found |= {a.asname or a.name for a in node.names}
    return frozenset(found)


def _is_absent(name: str) -> bool:
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is None
    except (ImportError, ValueError):
        return True


def _wanted(function: Function) -> list[ast.arg]:
    """Parameters without a default."""
    places = [*function.args.posonlyargs, *function.args.args]
    needed = places[: len(places) - len(function.args.defaults)]
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return [*needed, *(a for a, default in named if default is None)]


class _Starting(ast.NodeTransformer):
    def __init__(
        self, functions: dict[str, Function], given: set[str], absent: frozenset[str]
    ) -> None:
        self._functions = functions
        self._given = given
        self._absent = absent

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if not isinstance(call, ast.Call):
            return node
        started = self._started(call)
        name = started or (dotted(call.func) if not (call.args or call.keywords) else "")
        if name in self._given or (started and _wanted(self._functions[started])):
            return ast.copy_location(
                ast.Pass(), node
            )  # left to whoever starts what is only defined
        if started:
            node.value = ast.copy_location(ast.Call(call.args[0], [], []), call)
        return node

    def _started(self, call: ast.Call) -> str:
        """The function that an absent package is to call."""
        known = dotted(call.func) in CALLING and dotted(call.func).partition(".")[0] in self._absent
        name = dotted(call.args[0]) if known and call.args else ""
        return name if name in self._functions else ""
