"""Whole numbers that a program gives under a name: constants, defaults, keywords, options, entries."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from harness.syntax import walk

Named = Iterator[tuple[str, ast.expr | None]]
"""Names, each with the expression that stands under it."""


WHOLE = re.compile(
    r"(effective|total|global|target|virtual|logical|desired)_?(train_?)?(batch(_?size)?|bs|bsz)"
)
"""Names of how many rows an update gathers from several batches."""

BATCH = re.compile(r"((micro|mini|train|device|per_device|physical)_?)*(batch(_?size)?|bs|bsz)")
"""Names of how many rows one batch holds."""


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


def gathered_by(sizes: Iterable[Size]) -> int:
    """How many batches the whole batch of an update holds, where a program names both sizes; else 1."""
    named = [*sizes]
    whole = {size.value for size in named if WHOLE.fullmatch(size.name)}
    parts = {s.value for s in named if BATCH.fullmatch(s.name) and not WHOLE.fullmatch(s.name)}
    counts = {w // p for w in whole for p in parts if p > 0 and w % p == 0}
    return counts.pop() if len(counts) == 1 else 1


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
