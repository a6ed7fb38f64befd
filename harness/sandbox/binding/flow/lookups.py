"""Values that come out elsewhere than they were put in: found by a name, in a register, in a column.

``getattr(self, phase)(batch)``, ``__getattr__`` that forwards to what an object wraps, functions that a
decorator of the program's own keeps (``@loop.on("batch")``), and ``zip(*window)``.
"""

import ast
from collections.abc import Iterable, Iterator

from harness.sandbox.binding.flow import named_later
from harness.sandbox.binding.flow.definitions import Class, Function, Instance
from harness.sandbox.binding.flow.graph import Graph, Node
from harness.sandbox.binding.flow.reader import Reader
from harness.syntax import walk


class Lookups:
    """Lets what is looked up flow to where it is used."""

    def __init__(self, reader: Reader) -> None:
        """``link`` may be called repeatedly, as more becomes known of the objects."""
        self._reader = reader
        self._graph: Graph = reader.graph

    def link(self) -> None:
        """Link everything that is known by now."""
        for call, name, function in self._reader.looked_up:
            whole = call.args[0]
            if function is not None and function.name == "__getattr__" and function.owner:
                self._forward(function.owner, whole)
                continue
            for target in [t for t in whole.targets if isinstance(t, Instance)]:
                for method in self._names(target.cls, name, function):
                    part = self._graph.part(target.cls.instance, (".", method))
                    self._graph.flow(part, call.result)
        for row, columns in self._reader.transposed:
            self._transpose(row, columns)
        self._register()

    def _register(self) -> None:
        """What a decorator keeps is what it is given."""
        for decorator, given in self._reader.decorated:
            for register in [t for t in decorator.targets if isinstance(t, Function)]:
                for parameter in register.parameters[:1] if _keeps(register) else ():
                    self._graph.flow(given, parameter.node)

    def _names(self, cls: Class, name: ast.expr, function: Function | None) -> Iterable[str]:
        """Methods that a computed name may mean, not the one that it is computed in."""
        methods = {method for one in (cls, *cls.parents) for method in one.methods}
        here = function.name if function is not None else ""
        return named_later.names(name, methods - {here}, self._reader.texts).values()

    def _transpose(self, row: Node, columns: Node) -> None:
        """``inputs, targets, masks = zip(*window)``: each column holds one part of every row."""
        self._graph.use(row, *(use for use in columns.uses if use.startswith("unpack:")))
        for place, column in list(columns.items().items()):
            if isinstance(place, int):
                part = self._graph.part(row, ("[]", place))
                self._graph.flow(part, self._graph.part(column, ("for", 0)))

    def _forward(self, cls: Class, wrapped: Node) -> None:
        """What an object is asked for and has not got, the one that it wraps is asked for."""
        for name, part in list(cls.instance.attributes().items()):
            own = cls.method(name) or f"={name}" in cls.instance.uses or name.startswith("__")
            if not own:
                self._graph.use(wrapped, f".{name}")
                self._graph.flow(self._graph.part(wrapped, (".", name)), part)


def _keeps(decorator: Function) -> bool:
    """Whether it keeps what it decorates for later, and calls it nowhere in its own body."""
    given = {parameter.name for parameter in decorator.parameters[:1]}
    return not any(name in given for name in _called(decorator.tree))


def _called(tree: ast.AST) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
