"""The state of reading a program, shared by the parts of the reader."""

import ast
import contextlib
from collections.abc import Iterable, Iterator

from harness.sandbox.binding.flow.definitions import Function
from harness.sandbox.binding.flow.graph import Call, Graph, Node
from harness.sandbox.binding.flow.scopes import Scope


class Reading:
    """The graph so far, and where in the program the reader is."""

    def __init__(self) -> None:
        """An empty graph, at module level."""
        self.graph = Graph()
        self.scope = Scope()
        self.function: Function | None = None
        self.no_grad, self.in_module_class = False, False
        self.own_methods: frozenset[str] = frozenset()
        """Names of methods that the program's own classes define."""
        self.own_fields: frozenset[str] = frozenset()
        """Names of attributes that the program sets itself."""
        self.operations: list[tuple[str, Node, Node, Node]] = []
        """Arithmetic outside models: operator, left, right, result."""
        self.comparisons: list[list[Node]] = []
        """Values that are compared with one another."""
        # loops, and what they go through; lists, tuples and dicts that are written out, and their items
        self.turns, self.displays = list[tuple[ast.For, Node]](), list[tuple[Node, list[Node]]]()
        # literal dicts; containers that something is put into
        self.dicts, self.grown = list[Node](), list[Node]()
        self.indexed: list[tuple[Node, Node, Node]] = []
        """What is indexed by a value, that value, and what comes out."""
        # what is taken from by a written name, and what comes out; datasets, and what they yield
        self.picked, self.datasets = list[tuple[Node, Node]](), list[tuple[Node, Node]]()
        # values that name a function, and those that they may name, by the text; texts of the program
        self.picks, self.texts = list[tuple[Node, dict[str, str]]](), frozenset[str]()
        # what a branch depends on, and what it assigns; what ``with`` is given, as calls that enter it
        self.guarded, self.contexts = list[tuple[Node, list[Node]]](), list[Call]()
        # what methods are called on, by the identity of the call; what is compared with texts, and where
        self.receivers, self.asked = dict[int, Node](), list[tuple[Node, ast.Compare]]()
        self.looked_up: list[tuple[Call, ast.expr, Function | None]] = []
        """``getattr(whole, name)`` with a computed name: the call, the name, the function around it."""
        # decorators of the program's own, and what they are given; rows, and what ``zip(*rows)`` makes
        # of them
        self.decorated, self.transposed = list[tuple[Node, Node]](), list[tuple[Node, Node]]()
        # calls of libraries, with the dotted path of what is called; constructor calls outside model
        # classes: what might be a model of the program's own
        self.library_calls, self.built = list[tuple[str, Call]](), list[tuple[ast.Call, Node]]()

    def value(self, tree: ast.expr | None) -> Node:
        """Node of any expression. Written in ``Expressions``."""
        raise NotImplementedError

    def name(self, name: str) -> Node:
        """Node of a name that is read. Written in ``Reader``."""
        raise NotImplementedError

    def bind(self, name: str) -> Node:
        """Node of a name that is assigned. Written in ``Reader``."""
        raise NotImplementedError

    def renew(self, name: str) -> None:
        """Let a name have another node from here on. Written in ``Reader``."""
        raise NotImplementedError

    def store(self, target: ast.expr, value: Node) -> None:
        """Assign ``value`` to a target. Written in ``Statements``."""
        raise NotImplementedError

    def define(
        self, tree: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str
    ) -> Function:
        """A function with nodes for its parameters. Written in ``Reader``."""
        raise NotImplementedError

    def annotation(self, tree: ast.expr | None) -> None:
        """Read an annotation, if the program evaluates it. Written in ``Reader``."""
        raise NotImplementedError

    def iterate(self, source: Node) -> Node:
        """The node of what iterating over ``source`` yields."""
        self.graph.use(source, "iter", *(("iter_no_grad",) if self.no_grad else ()))
        return self.graph.part(source, ("for", 0))

    def enter(self, context: Node) -> Node:
        """The node of what entering a context manager returns; the context manager itself, where
        its class is not known.
        """
        self.graph.use(context, "context")
        entered = Call(context, [], {}, [], Node(), None, self.in_module_class, self._caller())
        self.graph.flow(context, entered.result)
        self.contexts.append(entered)
        return entered.result

    def text(self, shown: Iterable[ast.expr]) -> Node:
        """A string that shows these values."""
        for tree in shown:
            self.graph.use(self.value(tree), "format")
        return Node()

    @contextlib.contextmanager
    def inside(self, scope: Scope, function: Function | None) -> Iterator[None]:
        """Read in another scope."""
        before = self.scope, self.function
        self.scope, self.function = scope, function
        try:
            yield
        finally:
            self.scope, self.function = before

    def record(self, callee: Node, tree: ast.Call | None, args: list[Node] | None = None) -> Call:
        """A call, its arguments read."""
        call = Call(callee, args or [], {}, [], Node(), tree, self.in_module_class, self._caller())
        for argument in tree.args if tree is not None else ():
            self._positional(call, argument)
        for keyword in tree.keywords if tree is not None else ():
            found = self.value(keyword.value)
            if keyword.arg is None:
                self.graph.use(found, "spread")
                call.spread.append(found)
            else:
                call.keywords[keyword.arg] = found
        if not callee.library:
            for found in call.arguments():
                found.uses.add("called with")
        callee.calls.append(call)
        self.graph.calls.append(call)
        self.graph.touch(callee)
        return call

    def _positional(self, call: Call, tree: ast.expr) -> None:
        found = self.value(tree)
        if not isinstance(tree, ast.Starred):
            call.args.append(found)
            return
        self.graph.use(found, "starred")
        call.starred = len(call.args), found
        for i in range(2 - len(call.args)):
            call.args.append(self.graph.part(found, ("[]", i)))

    def _caller(self) -> Function | None:
        """The named function whose body is read; lambdas belong to the one around them."""
        return self.function if self.function is None or self.function.name != "<lambda>" else None
