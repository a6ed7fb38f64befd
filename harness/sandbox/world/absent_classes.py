"""Classes that are posted incompletely: attributes that methods read and nothing sets are lent."""

import ast
import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

from harness.sandbox.unbound import Unbound
from harness.sandbox.world.lending import LATE, Lender
from harness.sandbox.world.reading import ProgramReading, last_name


def complete(lender: Lender) -> None:
    """Arrange that classes of the program get what they lack as soon as they are defined."""
    reading = lender.reading
    missing = {
        c.name: names
        for c in reading.classes
        if not _builds_on_others(reading, c) and (names := reading.unset(c))
    }
    if not missing:
        return
    build: Any = builtins.__build_class__

    def building(function: Any, name: str, *bases: Any, **keywords: Any) -> Any:
        made = build(function, name, *bases, **keywords)
        for attribute in missing.get(name, ()):
            there = hasattr(made, attribute) or "__getattr__" in vars(made)
            if not there and lender.role(attribute) is not None:
                setattr(made, attribute, _lent(lender, attribute))
        return made

    own = {**vars(builtins), "__build_class__": building}
    vars(lender.module)["__builtins__"] = own


def _lent(lender: Lender, name: str) -> Any:
    try:
        found = lender.lend(name)
    except Unbound as unbound:
        return _unknown(name, unbound.reason)
    if found is LATE:
        return _Later(lambda: lender.later(name))
    return staticmethod(found) if isinstance(found, FunctionType) else found


class _Later:
    """An attribute that is made at its first use; an instance may have one of its own."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self._make()


def _builds_on_others(reading: ProgramReading, cls: ast.ClassDef) -> bool:
    """Whether it, or a class that builds on it, has a base that the program does not show."""
    own = {c.name: c for c in reading.classes}
    family = [cls, *(c for c in reading.classes if cls.name in map(last_name, c.bases))]
    bases = {last_name(b) for c in family for b in c.bases}
    parents = [own[b] for b in map(last_name, cls.bases) if b in own and b != cls.name]
    return bool(bases - own.keys() - PLAIN) or any(_builds_on_others(reading, p) for p in parents)


PLAIN = {"object", "ABC", "Generic", "Protocol"}


def _unknown(name: str, reason: str) -> property:
    def read(_: Any) -> Any:
        raise Unbound(name, reason)

    return property(read)
