"""A sum of which one part is divided by the micro-batches of a window, and another is not."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from harness.syntax import children, dotted, tree_of, walk

DEEPEST = 4
"""How many names behind each other are followed to what they are bound to."""


class Undivided(NamedTuple):
    """A loss that is divided in part."""

    part: str
    """The part that is not, as it is written."""
    by: str
    """What the rest is divided by."""


def undivided_part(source: str) -> Undivided | None:
    """The part of a loss that arrives once for each micro-batch; ``None`` where there is none."""
    try:
        tree = tree_of(source)
    except SyntaxError:
        return None
    counts = {
        ast.dump(n.right): ast.unparse(n.right)
        for n in walk(tree)
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and _is_a_count(n.right)
    }
    program = _Program(tree)
    for loss in program.losses() if counts else ():
        for key, by in counts.items():
            parts = list(_addends(loss))
            divided = [part for part in parts if _is_divided(part, key)]
            rest = [part for part in parts if not program.knows(part, key)]
            if divided and rest:
                return Undivided(ast.unparse(rest[0]), by)
    return None


class _Program:
    """What names are bound to, wherever that is."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._bound: dict[str, list[ast.AST]] = {}
        for node in walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._bound.setdefault(dotted(target), []).append(value)
                case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                    self._bound.setdefault(dotted(target), []).append(node)
                case ast.FunctionDef(name=name):
                    self._bound.setdefault(name, []).append(node)

    def losses(self) -> Iterator[ast.BinOp]:
        """Sums that go backward for each batch, and are bound once."""
        for root in _roots(self._tree):
            bound = self._bound.get(dotted(root), [root])
            loss = bound[0] if len(bound) == 1 else None
            if isinstance(loss, ast.BinOp) and not self._is_at_times(loss):
                yield loss

    def knows(self, part: ast.AST, key: str, depth: int = DEEPEST) -> bool:
        """Whether the number has a place in a part, or in what its names are bound to."""
        found = walk(part)
        if any(_is_a_count(node) and ast.dump(node) == key for node in found):
            return True
        if depth == 0 or not any(isinstance(node, ast.Name) for node in found):
            return True  # a number, or nobody knows
        names = {dotted(node) for node in found if isinstance(node, ast.Name | ast.Attribute)}
        names |= {name.rpartition(".")[2] for name in names if name.startswith("self.")}
        values = [value for name in names for value in self._bound.get(name, ())]
        return any(self._holds(value, key, depth - 1) for value in values if value is not part)

    def _holds(self, value: ast.AST, key: str, depth: int) -> bool:
        if any(_is_a_count(node) and ast.dump(node) == key for node in walk(value)):
            return True
        named = any(isinstance(node, ast.Name) for node in walk(value))
        return named and depth > 0 and self.knows(value, key, depth)

    def _is_at_times(self, loss: ast.AST) -> bool:
        """Whether it stands below a condition, as what is added once in a window does."""
        conditions = (n for n in walk(self._tree) if isinstance(n, ast.If | ast.IfExp))
        return any(loss in walk(condition) for condition in conditions)


def _roots(tree: ast.AST) -> Iterator[ast.expr]:
    """What goes backward, without a scaler's ``scale``."""
    for node in walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="backward", value=value), args=args):
                found = args[0] if args else value
                match found:
                    case ast.Call(func=ast.Attribute(attr="scale"), args=[scaled]):
                        yield scaled
                    case _:
                        yield found


def _addends(loss: ast.AST) -> Iterator[ast.AST]:
    match loss:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _addends(left)
            yield from _addends(right)
        case _:
            yield loss


def _is_divided(part: ast.AST, key: str) -> bool:
    """``loss / steps``, and products of that."""
    match part:
        case ast.BinOp(op=ast.Div(), right=right) if ast.dump(right) == key:
            return True
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            return any(_is_divided(below, key) for below in children(part))
    return False


def _is_a_count(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=int(number)):
            return number > 1
        case ast.Name() | ast.Attribute():
            return bool(dotted(node))
    return False
