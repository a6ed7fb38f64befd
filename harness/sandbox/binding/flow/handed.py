"""Functions that are passed to be called by others: threads, executors, event loops."""

from collections.abc import Callable

from harness.sandbox.binding.flow.graph import Call, Node

Record = Callable[[Node, None, list[Node]], Call]
"""Notes a call of a node with these arguments."""

APART = {"Thread": (1, 3), "Process": (1, 3), "Timer": (1, 2), "start_new_thread": (0, 1),
         "apply_async": (0, 1), "spawn": (0, 1), "notebook_launcher": (0, 1)}  # fmt: skip
"""Callables that take the arguments as a sequence: positions of the function and of the sequence."""

FOLLOWING = {"submit": 0, "to_thread": 0, "run_in_executor": 1, "call_soon": 0, "launch": 0}
"""Callables that take the arguments one by one: position of the function before them."""

RANKED = "spawn"
"""Callables that pass a rank before the arguments."""

ITSELF = "launch"
"""Methods that pass their own object before the arguments, as a Fabric does."""

FUNCTION = ("target", "function", "func")
SEQUENCE = ("args",)
MAPPING = ("kwargs", "kwds")


def called_later(name: str, call: Call, record: Record, owner: Node | None = None) -> Call | None:
    """The call of a passed function that this call leads to; ``None`` if it leads to none.

    ``owner``: the object whose method is called.
    """
    if name in APART:
        function, sequence = APART[name]
        called = _given(call, function, FUNCTION)
        items = _given(call, sequence, SEQUENCE)
        rest = _given(call, len(call.args), MAPPING)
        if called is None:
            return None
        first = [Node()] if name == RANKED else []
        later = record(called, None, [*first, *_in_order(items)])
        named = rest.items() if rest is not None else {}
        later.keywords.update({k: v for k, v in named.items() if isinstance(k, str)})
        return later
    place = FOLLOWING.get(name)
    if place is None or len(call.args) <= place:
        return None
    first = [owner] if name == ITSELF and owner is not None else []
    later = record(call.args[place], None, [*first, *call.args[place + 1 :]])
    later.keywords.update(call.keywords)
    return later


def _given(call: Call, place: int, names: tuple[str, ...]) -> Node | None:
    named = (call.keywords[name] for name in names if name in call.keywords)
    return next(named, call.args[place] if len(call.args) > place else None)


def _in_order(sequence: Node | None) -> list[Node]:
    items = sequence.items() if sequence is not None else {}
    return [items[i] for i in range(len(items)) if i in items]
