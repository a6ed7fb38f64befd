"""Classes that are posted incompletely: attributes that methods read and nothing sets are lent."""

import ast
import builtins
from typing import Any

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
                setattr(made, attribute, _Lent(lender, attribute))
        return made

    own = {**vars(builtins), "__build_class__": building}
    vars(lender.module)["__builtins__"] = own


class _Lent:
    """An attribute that is made at its first use; an instance may have one of its own."""

    def __init__(self, lender: Lender, name: str) -> None:
        self._lender, self._name = lender, name

    def __get__(self, instance: object, owner: type) -> Any:
        found = self._lender.lend(self._name)
        found = self._lender.later(self._name) if found is LATE else found
        setattr(owner, self._name, staticmethod(found) if callable(found) else found)
        return found


def _builds_on_others(reading: ProgramReading, cls: ast.ClassDef) -> bool:
    """Whether it, or a class that builds on it, has a base that the program does not show."""
    own = {c.name: c for c in reading.classes}
    family = [cls, *(c for c in reading.classes if cls.name in map(last_name, c.bases))]
    bases = {last_name(b) for c in family for b in c.bases}
    parents = [own[b] for b in map(last_name, cls.bases) if b in own and b != cls.name]
    return bool(bases - own.keys() - PLAIN) or any(_builds_on_others(reading, p) for p in parents)


PLAIN = {"object", "ABC", "Generic", "Protocol"}
