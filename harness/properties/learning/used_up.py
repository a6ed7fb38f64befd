"""Iterators of parameters that are used up before what was to change them, by the text.

``model.parameters()`` and ``filter(...)`` go once over what they hold. Where a function that is handed
one goes over it twice, or a name is bound to one, nothing is left for the second time.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from harness.syntax import blocks, dotted, tree_of, walk

ITERATORS = re.compile(r"filter|map|(itertools\.)?chain|.*\.(named_)?parameters")
"""Calls that return what goes once over what it holds."""

WHOLE = ("list", "tuple", "sum", "clip_grad_norm_", "clip_grad_value_", "enumerate", "zip")
"""Functions that go over what they are handed; so does whatever is made of ``optim``."""

CHANGES = re.compile(r"clip_grad_|\w_\(|\.(grad|data)\s*[-+*/]?=[^=]")
"""What a second time was to change."""

Scope = ast.FunctionDef | ast.Module


def used_up(source: str) -> str | None:
    """What goes over parameters, none of which are left, to change them."""
    tree = tree_of(source)
    for scope, names in _iterators(tree):
        for name in names:
            turns = [ast.unparse(turn) for turn in _turns(scope.body, name)]
            late = next(filter(CHANGES.search, turns[1:]), None)
            if late is not None:
                return late.splitlines()[0].rstrip(":")
    return None


def _iterators(tree: ast.Module) -> Iterator[tuple[Scope, list[str]]]:
    """Names that hold an iterator, by the function that goes over them."""
    calls: dict[str, list[ast.Call]] = {}
    for node in walk(tree):
        if isinstance(node, ast.Call):
            calls.setdefault(dotted(node).rpartition(".")[2], []).append(node)
    for scope in walk(tree):
        if not isinstance(scope, Scope):
            continue
        stored = [n.id for n in walk(scope) if isinstance(n, ast.Name) and _is_store(n)]
        names = [
            target.id
            for n in scope.body
            if isinstance(n, ast.Assign) and _is_iterator(n.value)
            if isinstance(target := n.targets[0], ast.Name) and stored.count(target.id) == 1
        ]
        if isinstance(scope, ast.FunctionDef):
            its = calls.get(scope.name, ())
            given = {name for call in its for name in _given(call, scope)}
            names += [name for name in given if name not in stored]
        yield scope, names


def _given(call: ast.Call, scope: ast.FunctionDef) -> Iterator[str]:
    """Parameters of a function that this call hands an iterator."""
    names = [arg.arg for arg in scope.args.args if arg.arg != "self"]
    yield from (name for name, arg in zip(names, call.args, strict=False) if _is_iterator(arg))
    yield from (k.arg for k in call.keywords if k.arg in names and _is_iterator(k.value))


def _turns(body: Sequence[ast.stmt], name: str) -> list[ast.AST]:
    """What goes over this name, in order, on the way that does it most often. A loop does it again."""
    found: list[ast.AST] = []
    for one in body:
        match one:
            case ast.If():
                ways = [_turns(part, name) for part in blocks(one) if not _leaves(part)]
                most = max(map(len, ways), default=0)
                found += next((way for way in ways if len(way) == most), [])
            case ast.For() if _goes_over(one.iter, name):
                found.append(one)
            case ast.For() | ast.While():
                found += 2 * _turns(one.body, name)
            case ast.With() | ast.Try():
                found += [turn for part in blocks(one) for turn in _turns(part, name)]
            case ast.FunctionDef() | ast.ClassDef():
                pass
            case _:
                found += [n for n in walk(one) if _is_turn(n, name)]
    return found


def _is_turn(node: ast.AST, name: str) -> bool:
    match node:
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return _goes_over(node.generators[0].iter, name)
        case ast.Call(args=[ast.Name(id=given), *_]):
            return given == name and (dotted(node).rpartition(".")[2] in WHOLE or _optimizes(node))
    return False


def _goes_over(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Name(id=given):
            return given == name
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "list")):
            return any(_goes_over(arg, name) for arg in node.args)
    return False


def _optimizes(call: ast.Call) -> bool:
    return "optim." in dotted(call)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _is_iterator(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and ITERATORS.fullmatch(dotted(node)) is not None
    once = called or isinstance(node, ast.GeneratorExp)
    return once and "param" in ast.unparse(node)


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
