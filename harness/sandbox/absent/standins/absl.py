"""``absl``: flags as options of a command line, and a start of ``main``."""

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

from harness.sandbox.absent.inert import Inert

KINDS: dict[str, Any] = {"integer": int, "float": float, "string": str}
"""What a flag is read as, by the end of its definition."""


class _Flags:
    """All of them; read off the command line when the first is asked for."""

    def __init__(self) -> None:
        self.__dict__.update(_parser=argparse.ArgumentParser(), _values=None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._values is None:
            self.__dict__["_values"] = self._parser.parse_known_args()[0]
        return getattr(self._values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._values or self._parser, name, value)

    def __getitem__(self, name: str) -> Any:
        return _Holder(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.flag_values_dict())

    def __call__(self, *_: Any, **__: Any) -> list[str]:
        """Parse; what is left of the command line."""
        return sys.argv[:1]

    def flag_values_dict(self) -> dict[str, Any]:
        """All by name."""
        return dict(vars(self._parser.parse_known_args()[0]))

    def flags_into_string(self) -> str:
        """As they would be given."""
        return "\n".join(f"--{name}={value}" for name, value in self.flag_values_dict().items())


class _Holder:
    """What a definition hands back: ``WIDTH.value``."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def value(self) -> Any:
        """Of the flag."""
        return getattr(flags.FLAGS, self.name)


def _defined(kind: str) -> Callable[..., _Holder]:
    several = kind.startswith("multi_") or kind in ("list", "spaceseplist")
    plain = kind.removeprefix("multi_")

    def define(name: str, default: Any = None, values: Any = None, *_: Any, **more: Any) -> _Holder:
        """One more flag. ``values``: of which it is one, or what it is for."""
        of = [*values] if plain in ("enum", "enum_class") and not isinstance(values, str) else None
        given: dict[str, Any] = {"default": default, "choices": of, "type": KINDS.get(plain)}
        if plain in ("bool", "boolean"):
            given = {"default": default, "action": argparse.BooleanOptionalAction}
        elif several:
            given = {"default": default, "nargs": "*", "type": KINDS.get(plain, str)}
        flags.FLAGS._parser.add_argument(f"--{name}", **given)
        return _Holder(name)

    return define


class flags:
    """``absl.flags``."""

    FLAGS = _Flags()
    mark_flag_as_required = mark_flags_as_required = staticmethod(lambda *_, **__: None)

    @staticmethod
    def lookup(name: str) -> Any:
        """A definition of any kind."""
        kind = name.removeprefix("DEFINE_")
        return _defined(kind) if kind != name else None


class app:
    """``absl.app``."""

    UsageError = SystemExit

    @staticmethod
    def run(main: Callable[..., Any], *_: Any, **__: Any) -> None:
        """Start the program."""
        main(sys.argv[:1])


logging = Inert()
