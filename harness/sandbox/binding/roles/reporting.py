"""Values that a program only uses to report: meters and loggers that nobody defines, numbers that
are shown.
"""

from collections.abc import Callable, Mapping
from typing import Any

from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.machine.inert import Inert

SHOWN_AS = 1
"""Stands for a number that is only shown: it can be divided by, and formatted in any way."""

SHOWING = frozenset({
    "format", "discarded", "compare", "compare:constant", "float", "int", "round", "str", "divides",
    "augmented", "called with",
})  # fmt: skip
"""Uses of a value on its way into a report, arithmetic included."""


class Reporter(Inert):
    """Does nothing, except for methods through which batches come: ``meters.log_every(loader, 10)``."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        """``fields``: these methods."""
        vars(self).update(fields)


def figure(name: str, node: Node) -> Callable[..., Any]:
    """A metric: it returns only what its result is taken apart into. ``name`` is there for the
    caller's sake.
    """
    uses = {use for call in node.calls for use in call.result.uses}
    parts = [int(use.partition(":")[2]) for use in uses if use.startswith("unpack:")]
    return (lambda *_, **__: tuple(Inert() for _ in range(parts[0]))) if parts else Inert()


def is_shown(node: Node) -> bool:
    """Whether a value, and everything computed from it, ends in a text."""
    reached = _computed_from(node)
    shown = any("format" in other.uses for other in reached)
    return shown and all(_only_shown(other) for other in reached)


def _only_shown(node: Node) -> bool:
    given_away = "called with" in node.uses and "format" not in node.uses
    return not (node.uses - SHOWING or given_away or node.parts or node.calls)


def _computed_from(start: Node) -> list[Node]:
    seen, waiting = {id(start): start}, [start]
    while waiting:
        node = waiting.pop()
        for other in (*node.after, *node.feeds):
            if id(other) not in seen:
                seen[id(other)] = other
                waiting.append(other)
    return list(seen.values())
