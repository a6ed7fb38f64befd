"""Whole numbers that a program gives under a name: constants, defaults, keywords, options, entries."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.syntax import walk

Named = Iterator[tuple[str, ast.expr | None]]
"""Names, each with the expression that stands under it."""


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
    for node in walk(_Folding().visit(tree)):
        reader = _READERS.get(type(node))
        for name, value in reader(node) if reader is not None else ():
            if isinstance(value, ast.Constant) and type(value.value) is int:
                yield Size(name.lower().lstrip("-").replace("-", "_"), value, value.value)


class _Folding(ast.NodeTransformer):
    """``5 * 8`` is a number."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(ast.Constant(value=int(a)), ast.Mult(), ast.Constant(value=int(b))):
                return ast.copy_location(ast.Constant(a * b), node)
        return node


def _assignment(node: ast.Assign) -> Named:
    for target in node.targets:
        yield from _assigned(target, node.value)


def _assigned(target: ast.expr, value: ast.expr | None) -> Named:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Attribute(attr=name), _:
            yield name, value
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for one, other in zip(names, values, strict=True):
                yield from _assigned(one, other)


def _entries(node: ast.Dict) -> Named:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _defaults(node: ast.arguments) -> Named:
    places = [*node.posonlyargs, *node.args]
    with_default = places[len(places) - len(node.defaults) :]
    for argument, value in zip(with_default, node.defaults, strict=True):
        yield argument.arg, value
    for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        yield argument.arg, default


def _option(node: ast.Call) -> Named:
    """``add_argument("-b", "--batch-size", default=256)``"""
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    for keyword in node.keywords:
        if texts and keyword.arg == "default":
            yield max(texts, key=len), keyword.value


_READERS: dict[type[ast.AST], Callable[..., Named]] = {
    ast.Assign: _assignment,
    ast.AnnAssign: lambda node: _assigned(node.target, node.value),
    ast.keyword: lambda node: iter([(node.arg or "", node.value)]),
    ast.Dict: _entries,
    ast.arguments: _defaults,
    ast.Call: _option,
}
