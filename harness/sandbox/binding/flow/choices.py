"""Options that are compared with texts, as in ``if args.clip_mode == "norm"``.

Nothing says which text an option has, so the branches decide: one that clips by norm is preferred to
one that clips in another way, and one that trains to one that does not.
"""

import ast
from collections.abc import Iterable, Iterator

from harness.sandbox.binding.flow import switches
from harness.sandbox.binding.flow.effects import CLIPS, STEP, Effects
from harness.sandbox.binding.flow.graph import Node
from harness.syntax import walk

OTHER = "another"
"""A text that no option is compared with."""

BY_NORM = frozenset({"clip_grad_norm_", "clip_grad_norm", "clip_gradients"})

LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
ENDING = frozenset({"exit", "_exit", "quit"})
"""Names of functions that end a program."""

Branch = tuple[ast.expr | None, list[ast.AST]]
"""A condition (``None`` for the last ``else``) and the statements under it."""


def texts(tree: ast.Compare) -> list[str]:
    """The texts that a comparison asks for; empty for other comparisons."""
    if len(tree.ops) != 1 or not isinstance(tree.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return []
    return [text for side in (tree.left, tree.comparators[0]) for text in _texts(side)]


def compared(tree: ast.Compare) -> ast.expr | None:
    """The expression that is compared with texts; below ``lower()``, if that is called on it."""
    sides = [side for side in (tree.left, tree.comparators[0]) if not _texts(side)]
    if not texts(tree) or len(sides) != 1:
        return None
    match sides[0]:
        case ast.Call(func=ast.Attribute(value=inner, attr="lower" | "upper" | "strip"), args=[]):
            return inner
    return sides[0]


class Choices:
    """The text that each option of one program gets."""

    def __init__(
        self,
        tree: ast.Module,
        asked: Iterable[tuple[Node, ast.Compare]],
        picks: Iterable[tuple[Node, dict[str, str]]],
        effects: Effects,
    ) -> None:
        """``asked``: what is compared with texts, and where; ``picks``: what names a function, and
        which, by the text.
        """
        self._asked, self._picks = list(asked), list(picks)
        self._effects = effects
        self._chains = [*_chains(tree)]

    def of(self, node: Node) -> str:
        """The text of an option."""
        nodes = {id(one) for one in node.downstream()}
        places = {id(tree): tree for asked, tree in self._asked if id(asked) in nodes}
        named = {
            t: name for place, of in self._picks if id(place) in nodes for t, name in of.items()
        }
        if named and not places:
            return max(named, key=lambda text: self._trains(named[text]))
        known = [(tree, text) for tree in places.values() for text in texts(tree)]
        asked_for = [text for tree, text in known if _names_it(tree)]
        asking = [chain for chain in self._chains if _asks(chain, places.keys())]
        further = {id(test) for chain in asking for test, _ in chain[1:]}
        chains = [chain for chain in asking if id(chain[0][0]) not in further]
        candidates = [*dict.fromkeys([*asked_for, OTHER, *(text for _, text in known)])]
        return min(candidates, key=lambda text: self._loss(text, chains, places.keys()))

    def _trains(self, function: str) -> bool:
        return STEP in self._effects.functions.get(function, ())

    def _loss(self, text: str, chains: list[list[Branch]], places: Iterable[int]) -> int:
        """How much less is done with this text than could be."""
        lost = 0
        for chain in chains:
            values = [self._value(body) for _, body in chain]
            taken = (
                value
                for (test, _), value in zip(chain, values, strict=True)
                if test is None or _truth(test, text, places)
            )
            lost += max(values) - next(taken, 0)
        return lost

    def _value(self, body: list[ast.AST]) -> int:
        named = {n.id for part in body for n in walk(part) if isinstance(n, ast.Name)}
        named |= {n.attr for part in body for n in walk(part) if isinstance(n, ast.Attribute)}
        if named & BY_NORM:
            return 3
        statements = [part for part in body if isinstance(part, ast.stmt)]
        if named & CLIPS or switches.trains(statements, self._effects):
            return 2
        return -1 if named & ENDING or any(isinstance(s, LEAVING) for s in statements) else 0


def _names_it(tree: ast.Compare) -> bool:
    """Whether a comparison holds for a text because it is that one: ``==``, and ``in`` a list."""
    return isinstance(tree.ops[0], ast.Eq) or (
        isinstance(tree.ops[0], ast.In) and not _texts(tree.left)
    )


def _texts(tree: ast.expr) -> list[str]:
    match tree:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [text for item in items for text in _texts(item)]
    return []


def _chains(tree: ast.Module) -> Iterator[list[Branch]]:
    """``if``, its ``elif`` and ``else``; each chain once, and each end of one."""
    for node in walk(tree):
        if isinstance(node, ast.If):
            yield [*_branches(node)]
        elif isinstance(node, ast.IfExp):
            yield [(node.test, [node.body]), (None, [node.orelse])]


def _branches(node: ast.If) -> Iterator[Branch]:
    yield node.test, list(node.body)
    match node.orelse:
        case [ast.If() as further]:
            yield from _branches(further)
        case other:
            yield None, list(other)


def _asks(chain: list[Branch], places: Iterable[int]) -> bool:
    """Whether it begins with a question for the option."""
    test = chain[0][0]
    return test is not None and any(id(node) in places for node in walk(test))


def _truth(test: ast.expr, text: str, places: Iterable[int]) -> bool | None:
    """Whether a condition holds for a text; ``None`` where it does not ask for it."""
    match test:
        case ast.BoolOp(op=op, values=values):
            found = [t for v in values if (t := _truth(v, text, places)) is not None]
            if not found:
                return None
            return all(found) if isinstance(op, ast.And) else any(found)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            told = _truth(inner, text, places)
            return None if told is None else not told
        case ast.Compare() if id(test) in places:
            return _holds(test, text)
    return None


def _holds(test: ast.Compare, text: str) -> bool:
    asked = texts(test)
    within = isinstance(test.ops[0], ast.In | ast.NotIn) and bool(_texts(test.left))
    same = any(one in text for one in asked) if within else text in asked
    return same != isinstance(test.ops[0], ast.NotEq | ast.NotIn)
