"""Classes that are posted incompletely: attributes that their methods read and nothing sets are
supplied.
"""

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from harness.sandbox.binding import rewrite
from harness.sandbox.binding.flow.definitions import Class
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.resolver import LATE, Resolver
from harness.sandbox.binding.unbound import Unbound


def complete(
    classes: Iterable[Class], resolver: Resolver, changes: rewrite.Changes, module: ModuleType
) -> None:
    """Arrange that these classes are completed as soon as the program has defined them."""
    missing: dict[str, dict[str, Any]] = {}
    for cls in classes:
        found = _missing(cls, resolver)
        if found:
            missing[cls.name] = found
            changes.completed.add(id(cls.tree))

    def completed(cls: type[Any]) -> type[Any]:
        for name, value in missing[cls.__name__].items():
            if not hasattr(cls, name):
                setattr(cls, name, value)
        return cls

    vars(module)[rewrite.COMPLETED] = completed


def _missing(cls: Class, resolver: Resolver) -> dict[str, Any]:
    return {name: _value(f"self.{name}", node, resolver) for name, node in cls.unset().items()}


def _value(name: str, node: Node, resolver: Resolver) -> Any:
    """What is set on the class; what nothing tells is missed where it is read."""
    try:
        value = resolver.free(name, node)
    except Unbound as unbound:
        return _unknown(name, unbound.reason)
    if value is LATE:
        return _unknown(name, "belongs to a model that the program builds")
    return staticmethod(value) if isinstance(value, FunctionType) else value


def _unknown(name: str, reason: str) -> property:
    def read(_: Any) -> Any:
        raise Unbound(name, reason)

    return property(read)
