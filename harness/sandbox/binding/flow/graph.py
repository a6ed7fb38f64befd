"""Where values flow in a program and what is done with them, without running it.

A node stands for the values of one variable or expression. ``a`` flows into ``b`` when a value of
``a`` may be a value of ``b``: what is done with ``b`` is then done with ``a`` (uses travel back), and
what ``a`` is, ``b`` is (tags travel forward). Components (attributes, items, elements) follow.
"""

import ast
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

SHARED = frozenset({"data", "no_grad", "output", "made"})
"""Tags that the components of a value have too."""

OWN = frozenset({"model", "constant", "literal", "number"})
"""Tags that a value has and results computed from it do not."""

DEEPEST = 4
"""How many levels of components are told apart; a linked structure would have no end."""

WEAK = frozenset({"guards_step", "guards", "to_loss"})
"""Uses that travel back through arithmetic."""

Key = tuple[str, Hashable]


class Node:
    """The values of one variable or expression."""

    __slots__ = (
        "after", "before", "calls", "depth", "fed", "feeds", "library", "names", "parts", "queued",
        "tags", "targets", "uses",
    )  # fmt: skip

    def __init__(self, name: str = "", *, depth: int = 0, library: str = "") -> None:
        """``library``: its dotted path, if it is an object of a known library."""
        self.names = {name} if name else set()
        self.depth = depth
        self.library = library
        self.uses: set[str] = set()
        self.tags: set[str] = set()
        self.parts: dict[Key, Node] = {}
        self.calls: list[Call] = []
        self.targets: set[object] = set()
        self.after: list[Node] = []
        self.before: list[Node] = []
        self.feeds: list[Node] = []
        self.fed: list[Node] = []
        self.queued = False

    def attributes(self) -> dict[str, "Node"]:
        """Attributes that are read or written."""
        return {str(name): part for (kind, name), part in self.parts.items() if kind == "."}

    def items(self) -> dict[Hashable, "Node"]:
        """Items with a constant key."""
        return {key: part for (kind, key), part in self.parts.items() if kind == "[]"}

    @property
    def element(self) -> "Node | None":
        """What iterating yields."""
        return self.parts.get(("for", 0))

    def downstream(self) -> Iterator["Node"]:
        """This node and every node it flows into."""
        return _reached(self, lambda node: node.after)

    def upstream(self) -> Iterator["Node"]:
        """This node and every node that flows into it."""
        return _reached(self, lambda node: node.before)

    def all_names(self) -> list[str]:
        """Names it goes by, its own first."""
        own = sorted(self.names)
        return own + sorted({n for node in self.downstream() for n in node.names} - set(own))


def _reached(start: Node, following: Callable[[Node], list[Node]]) -> Iterator[Node]:
    seen, waiting = {id(start)}, [start]
    while waiting:
        node = waiting.pop()
        yield node
        for other in following(node):
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)


@dataclass(eq=False, slots=True)
class Call:
    """One call expression."""

    callee: Node
    """What is called."""
    args: list[Node]
    """Positional arguments."""
    keywords: dict[str, Node]
    """Keyword arguments."""
    spread: list[Node]
    """Mappings unpacked with ``**``."""
    result: Node
    """What it returns."""
    where: ast.Call | None
    """The call expression; ``None`` for a call that Python makes implicitly."""
    inner: bool = False
    """Whether it stands in the definition of a model."""
    caller: object = None
    """The function in whose body it stands; ``None`` at module level."""
    linked: set[int] = field(default_factory=set)
    """Definitions that it has been linked to."""
    starred: tuple[int, Node] | None = None
    """Index from which on positional arguments come from one starred value: ``f(x, *batch)``."""

    def arguments(self) -> Iterator[Node]:
        """Every argument."""
        yield from self.args
        yield from self.keywords.values()
        yield from self.spread


class Graph:
    """All nodes of one program, and the propagation between them."""

    def __init__(self) -> None:
        """Empty."""
        self.calls: list[Call] = []
        self.changed = True
        self.marks: frozenset[str] = frozenset()
        """Uses that only a model has."""
        self._queue: deque[Node] = deque()

    def flow(self, source: Node, sink: Node) -> None:
        """Values of ``source`` may be values of ``sink``."""
        if source is sink or sink in source.after:
            return
        source.after.append(sink)
        sink.before.append(source)
        self.touch(source)
        self.touch(sink)

    def feed(self, source: Node, sink: Node) -> None:
        """``sink`` is computed from ``source``."""
        if source is not sink and sink not in source.feeds:
            source.feeds.append(sink)
            sink.fed.append(source)
            self.touch(source)
            self.touch(sink)

    def part(self, whole: Node, key: Key) -> Node:
        """The component ``key`` of ``whole``."""
        found = whole.parts.get(key)
        if found is None:
            if whole.depth >= DEEPEST:
                return Node()
            found = whole.parts[key] = Node(
                str(key[1]) if key[0] != "for" and isinstance(key[1], str) else "",
                depth=whole.depth + 1,
            )
            found.tags |= whole.tags & SHARED
            self.touch(whole)
        return found

    def use(self, node: Node, *uses: str) -> None:
        """Note that something is done with ``node``."""
        if not node.uses.issuperset(uses):
            node.uses.update(uses)
            self.touch(node)

    def tag(self, node: Node, *tags: str) -> None:
        """Note what ``node`` is."""
        if not node.tags.issuperset(tags):
            node.tags.update(tags)
            self.touch(node)

    def touch(self, node: Node) -> None:
        """Look at ``node`` again."""
        self.changed = True
        if not node.queued:
            node.queued = True
            self._queue.append(node)

    def settle(self) -> None:
        """Propagate until nothing changes."""
        while self._queue:
            node = self._queue.popleft()
            node.queued = False
            self._back(node)
            self._forth(node)

    def _back(self, node: Node) -> None:
        for source in node.before:
            if not source.uses >= node.uses:
                source.uses |= node.uses
                self.touch(source)
            for key, part in list(node.parts.items()):
                self.flow(self.part(source, key), part)
            for call in node.calls:
                if call not in source.calls:
                    source.calls.append(call)
                    self.touch(source)
        weak = node.uses & WEAK
        for source in node.fed if weak else ():
            self.use(source, *weak)

    def _forth(self, node: Node) -> None:
        if node.uses & self.marks:
            node.tags.add("model")
        for sink in node.after:
            if not (sink.tags >= node.tags and sink.targets >= node.targets):
                sink.tags |= node.tags
                sink.targets |= node.targets
                self.touch(sink)
            if node.library and not sink.library:
                sink.library = node.library
                self.touch(sink)
        for sink in node.feeds:
            self.tag(sink, *node.tags - OWN)
        shared = node.tags & SHARED
        for part in node.parts.values() if shared else ():
            self.tag(part, *shared)
