"""A pass that is trained once more when a run is resumed: its number is kept when it is over, and taken
for the next one's.
"""

import ast
from collections.abc import Iterator

from harness.syntax import dotted, tree_of, walk


def repeats_a_pass(source: str) -> str | None:
    """How the number is taken up, where a loop over passes begins with the one that was kept at the end
    of a pass, and neither place adds 1; ``None`` otherwise.
    """
    try:
        tree = tree_of(source)
    except SyntaxError:
        return None
    for loop in (n for n in walk(tree) if isinstance(n, ast.For)):
        begins = _begins_with(loop)
        if begins in (moved := _moved_on(tree)) or dotted(loop.target) in moved:
            continue
        for key, taken in _taken_up(begins, tree) if begins else ():
            if _keeps_its_number(loop, key, tree):
                return taken
    return None


def _moved_on(tree: ast.Module) -> set[str]:
    """Names that are added to somewhere: ``start += 1``, ``start = start + 1``."""
    added = {dotted(n.target) for n in walk(tree) if isinstance(n, ast.AugAssign)}
    for node in (n for n in walk(tree) if isinstance(n, ast.Assign)):
        read = {dotted(n) for n in walk(node.value)}
        added |= {dotted(target) for target in node.targets} & read
    return added


def _begins_with(loop: ast.For) -> str:
    """``start`` of ``for epoch in range(start, epochs)``; empty for other loops."""
    match loop:
        case ast.For(
            target=ast.Name(),
            iter=ast.Call(func=ast.Name(id="range"), args=[ast.Name() | ast.Attribute() as at, _]),
        ):
            return dotted(at)
    return ""


def _taken_up(name: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Keys of a state from which that name is bound, as it is kept, and how that is written."""
    loaders = dict(_loaders(tree))
    for node in (n for n in walk(tree) if isinstance(n, ast.Assign)):
        if any(dotted(target) == name for target in node.targets):
            values = [node.value]
            if isinstance(node.value, ast.IfExp):
                values = [node.value.body, node.value.orelse]
            for value in values:
                if (key := _asked_for(value)) is not None:
                    yield key, ast.unparse(node)
                elif isinstance(value, ast.Call) and dotted(value.func) in loaders:
                    yield loaders[dotted(value.func)]


def _loaders(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Functions that return such a number alone, by name."""
    for function in (n for n in walk(tree) if isinstance(n, ast.FunctionDef)):
        returns = [n for n in walk(function) if isinstance(n, ast.Return)]
        key = _asked_for(returns[-1].value) if returns and returns[-1].value else None
        if key is not None:
            yield function.name, (key, ast.unparse(returns[-1]))


def _asked_for(value: ast.expr | None) -> str | None:
    """``"epoch"`` of ``checkpoint["epoch"]``."""
    match value:
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(key))):
            return key
    return None


def _keeps_its_number(loop: ast.For, key: str, tree: ast.Module) -> bool:
    """Whether the number of the pass is kept under that key behind its training, and nowhere else."""
    number = dotted(loop.target)
    keepers = {f.name: f for f in walk(tree) if isinstance(f, ast.FunctionDef) and _under(f, key)}
    behind = False
    for place, statement in enumerate(loop.body):
        trained = any(_trains(before) for before in loop.body[:place])
        if _trains(statement):
            continue
        here = any(dotted(value) == number for value in _under(statement, key))
        calls = (n for n in walk(statement) if isinstance(n, ast.Call))
        handed = any(
            _handed(call, keepers[dotted(call.func)], key) == number
            for call in calls
            if dotted(call.func) in keepers
        )
        behind |= trained and (here or handed)
    return behind and len(_under(tree, key)) == 1


def _under(tree: ast.AST, key: str) -> list[ast.expr]:
    """What dictionaries hold under a key."""
    return [
        value
        for node in walk(tree)
        if isinstance(node, ast.Dict)
        for name, value in zip(node.keys, node.values, strict=True)
        if isinstance(name, ast.Constant) and name.value == key
    ]


def _handed(call: ast.Call, keeper: ast.FunctionDef, key: str) -> str:
    """The name that a function which keeps a state is given for the number."""
    wanted = dotted(_under(keeper, key)[0])
    named = {a.arg: value for a, value in zip(keeper.args.args, call.args, strict=False)}
    named |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return dotted(named[wanted]) if wanted in named else ""


def _trains(statement: ast.stmt) -> bool:
    calls = (n for n in walk(statement) if isinstance(n, ast.Call))
    return any(dotted(c.func).rpartition(".")[2].startswith(("backward", "train_")) for c in calls)
