"""What Python's builtins and itertools hand on of what they iterate over."""

from collections.abc import Callable

from harness.sandbox.binding.flow.definitions import Function
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.reading import Reading

MOVING = frozenset({
    "enumerate", "zip", "zip_longest", "next", "map", "filter", "chain", "groupby", "batched",
    "takewhile", "dropwhile", "filterfalse",
})  # fmt: skip
"""Builtins whose results contain their arguments."""


class Iterators(Reading):
    """Calls whose result is iterated over in turn."""

    def moved(self, name: str, args: list[Node], named: list[Node]) -> Node:
        """Node of the result of one of ``MOVING``; ``named``: its keyword arguments."""
        movers: dict[str, Callable[[list[Node]], Node]] = {
            "enumerate": self._enumerate, "zip": self._zip, "zip_longest": self._zip,
            "next": self._next, "map": self._map, "filter": self._filter, "chain": self._chain,
            "takewhile": self._filter, "dropwhile": self._filter, "filterfalse": self._filter,
            "batched": self._batched, "groupby": lambda args: self._groupby([*args, *named]),
        }  # fmt: skip
        return movers[name](args)

    def _enumerate(self, args: list[Node]) -> Node:
        result = Node()
        pair = self.graph.part(result, ("for", 0))
        self.graph.tag(self.graph.part(pair, ("[]", 0)), "counter")
        self.graph.flow(self.iterate(args[0]), self.graph.part(pair, ("[]", 1)))
        return result

    def _zip(self, args: list[Node]) -> Node:
        result = Node()
        row = self.graph.part(result, ("for", 0))
        for i, argument in enumerate(args):
            self.graph.flow(self.iterate(argument), self.graph.part(row, ("[]", i)))
        if len(args) == 1:  # of any length: alike
            self.graph.flow(self.iterate(args[0]), self.graph.part(row, ("for", 0)))
            self.transposed.append((args[0], result))
        return result

    def _next(self, args: list[Node]) -> Node:
        result = Node()
        self.graph.use(args[0], "next")
        self.graph.flow(self.iterate(args[0]), result)
        return result

    def _map(self, args: list[Node]) -> Node:
        result = Node()
        for iterated in args[1:2]:
            call = self.record(args[0], None, [self.iterate(iterated)])
            self.graph.flow(call.result, self.graph.part(result, ("for", 0)))
            if any(_returns_its_argument(target) for target in args[0].targets):
                self.graph.flow(iterated, result)
        return result

    def _filter(self, args: list[Node]) -> Node:
        result = Node()
        for iterated in args[1:2]:
            self.record(args[0], None, [self.iterate(iterated)])
            self.graph.flow(iterated, result)
        return result

    def _batched(self, args: list[Node]) -> Node:
        """Each element holds some of what is iterated over."""
        result = Node()
        self.iterate(args[0])
        self.graph.flow(args[0], self.graph.part(result, ("for", 0)))
        return result

    def _groupby(self, args: list[Node]) -> Node:
        """Pairs of a key and a group; the key is computed from an element."""
        result = Node()
        pair = self.graph.part(result, ("for", 0))
        for key in args[1:2]:
            call = self.record(key, None, [self.iterate(args[0])])
            self.graph.flow(call.result, self.graph.part(pair, ("[]", 0)))
        self.graph.flow(args[0], self.graph.part(pair, ("[]", 1)))
        return result

    def _chain(self, args: list[Node]) -> Node:
        result = Node()
        for argument in args:
            self.graph.flow(argument, result)
        return result


def _returns_its_argument(target: object) -> bool:
    """Whether it is a function such as ``lambda t: t.to(device)``."""
    if not isinstance(target, Function) or not target.parameters:
        return False
    return any(target.result is node for node in target.parameters[0].node.downstream())
