"""Settings that a program reads and nobody shows: ``args.lr``, ``cfg["clip"]``, ``cfg.get("seed")``."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from harness.sandbox.world.spies import Result, Several, Spy

Field = Callable[[str, str], Any]
"""``(owner, name)``: the value of one setting."""


class LentSettings(Spy):
    """A namespace whose fields are what their names mean; a section of it is another one."""

    def __init__(
        self, name: str, field: Field, result: Result, several: Several = lambda *_: None
    ) -> None:
        """``name``: as the program spells it, ``cfg.train``."""
        super().__init__(name, result, several=several)
        self.__dict__["_field"] = field

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        found = self.__dict__[attribute] = self._field(self._name, attribute)
        return found

    def __setattr__(self, attribute: str, value: Any) -> None:
        self.__dict__[attribute] = value

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.__dict__[key] = value

    def get(self, key: str, default: Any = None) -> Any:
        """Like a dict's; a default that the program writes is what it means."""
        return self.__dict__.get(key, default) if default is not None else getattr(self, key)

    def __deepcopy__(self, memo: dict[int, Any]) -> "LentSettings":
        """What it was asked for is copied; how it answers is the same."""
        copied = object.__new__(type(self))
        for name, value in self.__dict__.items():
            copied.__dict__[name] = value if name.startswith("_") else deepcopy(value, memo)
        return copied

    def keys(self) -> Iterator[str]:
        """Nothing is known before it is asked for."""
        return iter([k for k in self.__dict__ if not k.startswith("_")])

    def items(self) -> Any:
        """What was asked for so far."""
        return [(k, self.__dict__[k]) for k in self.keys()]

    def __bool__(self) -> bool:
        return True
