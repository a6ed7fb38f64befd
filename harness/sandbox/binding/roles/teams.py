"""Optimizers that nobody makes and that step side by side: each trains a share of the parameters.

One after the other in the same code they cannot be the same one, which would step twice. In branches
of which one is taken, or under names that never meet, they can, and stay one.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

from harness.sandbox.binding.flow.definitions import Function, Instance
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.flow.reader import Reader
from harness.sandbox.binding.flow.sources import inside
from harness.sandbox.binding.unbound import Unbound
from harness.syntax import blocks, walk

PLAIN = frozenset({
    "", "opt", "optim", "optimizer", "optimizers", "sched", "scheduler", "lr", "net", "model", "self",
    "step",
})  # fmt: skip
"""Words that the name of every optimizer, and of every schedule, may have."""

Roots = frozenset[int]
"""Optimizers that nobody makes, by the identity of their nodes."""

LEAVING = (ast.Continue, ast.Return, ast.Break, ast.Raise)


@dataclass(frozen=True, eq=False, slots=True)
class Team:
    """Optimizers that train one model together."""

    names: tuple[str, ...]
    """What each of them is called."""


@dataclass(frozen=True, slots=True)
class Member:
    """One of a team."""

    team: Team
    """Which."""
    place: int
    """Its place among ``names``."""


class Teams:
    """The teams of one program."""

    def __init__(
        self,
        reader: Reader,
        tree: ast.Module,
        goes_back: Callable[[Call], bool],
        is_optimizer: Callable[[Node], bool],
    ) -> None:
        """``goes_back``: whether a call computes gradients. ``is_optimizer``: whether a value is one."""
        self._reader = reader
        self._goes_back = goes_back
        self._is_optimizer = is_optimizer
        self._nodes: dict[int, Node] = {}
        self._known: dict[int, Roots] = {}
        self._calls = {id(c.where): c for c in reader.graph.calls if c.where is not None}
        self._inside: dict[Function, Roots] = {}
        self._scheduled = 0
        self._met: list[tuple[int, int]] = []
        self._doubtful: set[int] = set()
        self._trained = {
            id(node)
            for loop, source in reader.turns
            if any(map(goes_back, self._called(loop.body)))
            for node in source.upstream()
        }
        """What loops that compute gradients go through."""
        self._members: dict[int, Member] = {}
        if self._are_several():
            self._meet(tree)

    def member(self, node: Node) -> Member | None:
        """Which of a team it is; ``None`` for one that is alone.

        Raises ``Unbound`` where one steps under one condition and another under another.
        """
        found = self._members.get(id(node))
        if found is None and id(node) in self._doubtful:
            raise Unbound(
                _called(node), "steps when another optimizer may not, and nothing tells for what"
            )
        return found

    @property
    def largest(self) -> Team | None:
        """The one with the most optimizers, if there is any."""
        teams = {member.team: None for member in self._members.values()}
        return max(teams, key=lambda team: len(team.names), default=None)

    def alike(self, names: list[str]) -> Member | None:
        """The one that a schedule's names belong to; one after the other where they tell nothing."""
        members = [*self._members.values()]
        if not members:
            return None
        words = {w for name in names for w in words_of(name)}
        found = [m for m in members if words & words_of(m.team.names[m.place])]
        self._scheduled += not found
        return found[0] if found else members[(self._scheduled - 1) % len(members)]

    # --------------------------------------------------------------------------------- who meets whom

    def _meet(self, tree: ast.Module) -> None:
        self._nodes, self._known = {}, {}  # anew, in the order in which they step
        self._block(tree.body)
        for statement in (node for node in walk(tree) if isinstance(node, ast.stmt)):
            for block in blocks(statement):
                self._block(block)
        for whole, elements in self._reader.displays:
            self._display(whole, elements)
        self._members = self._numbered()

    def _are_several(self) -> bool:
        """Whether more than one steps anywhere: most programs are not looked at any further."""
        steps = [c for c in self._reader.graph.calls if "step" in c.callee.names]
        taken = [e for _, elements in self._reader.displays for e in elements]
        taken += [n for c in steps for n in c.args[:1]]
        taken += [r for c in steps if (r := self._reader.receivers.get(id(c))) is not None]
        return len(frozenset[int]().union(*map(self._roots, taken))) > 1

    def _display(self, whole: Node, elements: list[Node]) -> None:
        """``for optimizer in (first, second): optimizer.step()``, unless each trains alone there."""
        if id(whole) in self._trained or not _steps_each(whole):
            return
        self._all_meet(combinations([self._roots(e) for e in elements], 2))

    def _block(self, body: list[ast.stmt]) -> None:
        before: list[tuple[ast.stmt, list[Roots]]] = []
        """Steps since gradients were last computed."""
        for statement in body:
            if any(map(self._goes_back, self._called([statement]))):
                before.clear()
            found = self._steps([statement])
            if not blocks(statement):
                self._all_meet(combinations(found, 2))
            for first, earlier in before:
                apart = _conditions_differ(first, statement)
                self._all_meet(product(earlier, found), apart=apart)
            if found:
                before.append((statement, self._leading_on(statement)))

    def _leading_on(self, statement: ast.stmt) -> list[Roots]:
        """Steps after which the statements behind are reached."""
        if not isinstance(statement, ast.If):
            return self._steps([statement])
        ways = (way for way in (statement.body, statement.orelse) if way)
        return [r for way in ways if not isinstance(way[-1], LEAVING) for r in self._steps(way)]

    def _all_meet(self, pairs: Iterable[tuple[Roots, Roots]], *, apart: bool = False) -> None:
        for one, other in pairs:
            met = [*product(one - other, other - one)]
            if apart:
                self._doubtful.update(*met)
            else:
                self._met += met

    # ------------------------------------------------------------------------------------ what steps

    def _steps(self, body: list[ast.stmt]) -> list[Roots]:
        """Optimizers that each call in some statements steps."""
        return [roots for call in self._called(body) if (roots := self._stepped(call))]

    def _called(self, body: list[ast.stmt]) -> list[Call]:
        found = (self._calls.get(id(n)) for n in inside(body) if isinstance(n, ast.Call))
        return [call for call in found if call is not None]

    def _stepped(self, call: Call) -> Roots:
        receiver = self._reader.receivers.get(id(call))
        if receiver is not None and "step" in call.callee.names:
            return self._roots(receiver).union(*(self._roots(a) for a in call.args[:1]))
        within = frozenset[int]().union(*(self._of(f) for f in _functions(call)))
        given = frozenset[int]().union(*(self._roots(a) for a in call.arguments()))
        return within & given or within

    def _of(self, function: Function) -> Roots:
        if function not in self._inside:
            self._inside[function] = frozenset()  # it may call itself
            tree = function.tree
            body: list[ast.stmt] = (
                [ast.Expr(tree.body)] if isinstance(tree, ast.Lambda) else tree.body
            )
            self._inside[function] = frozenset[int]().union(*self._steps(body))
        return self._inside[function]

    def _roots(self, node: Node) -> Roots:
        """Where its values come from, as far as these are optimizers that nobody makes."""
        if id(node) not in self._known:
            found = [n for n in node.upstream() if not n.library and _is_source(n)]
            kept = [n for n in found if "constant" not in n.tags and self._is_optimizer(n)]
            self._nodes |= {id(n): n for n in kept}
            self._known[id(node)] = frozenset(id(n) for n in kept)
        return self._known[id(node)]

    # -------------------------------------------------------------------------------------- numbering

    def _numbered(self) -> dict[int, Member]:
        teams: list[list[int]] = []
        for pair in self._met:
            joined = [team for team in teams if set(team) & set(pair)]
            teams = [team for team in teams if team not in joined]
            teams.append([*dict.fromkeys([*(n for team in joined for n in team), *pair])])
        members: dict[int, Member] = {}
        order = {found: place for place, found in enumerate(self._nodes)}
        for found in teams:
            ordered = sorted(found, key=order.__getitem__)
            team = Team(tuple(_called(self._nodes[root]) for root in ordered))
            members |= {root: Member(team, place) for place, root in enumerate(ordered)}
        return members


def _is_source(node: Node) -> bool:
    """Whether nothing flows into it but what all items of its container are."""
    return "*" not in node.names and all("*" in before.names for before in node.before)


def words_of(name: str) -> set[str]:
    """Words of a name that tell one optimizer from another."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", name).lower()
    return {*re.split(r"[^a-z0-9]+", spaced)} - PLAIN


def _steps_each(whole: Node) -> bool:
    """Whether the elements of a container are stepped one after the other."""
    viewed = whole.parts.get(("[]", "*")) if whole.uses & {".values", ".items"} else None
    elements = [e for e in (whole.element, viewed) if e is not None]
    return any(e.uses & {".step", "optimizer?", "optimizer"} for e in elements)


def _called(node: Node) -> str:
    return next((name for name in node.all_names() if name), "optimizer")


def _functions(call: Call) -> Iterator[Function]:
    for target in call.callee.targets:
        if isinstance(target, Function):
            yield target
        elif isinstance(target, Instance) and (method := target.cls.method("__call__")):
            yield method


def _conditions_differ(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements run under conditions of which one may hold without the other."""
    if not (isinstance(first, ast.If) and isinstance(second, ast.If)):
        return False
    return ast.dump(first.test) != ast.dump(second.test)
