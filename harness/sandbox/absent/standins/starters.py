"""``fire`` and ``tyro`` call what they are given with its own defaults, for there is no command line; a
``Tap`` is one that is written as a class.
"""

import argparse
import inspect
import typing
from typing import Any

from harness.sandbox.absent.settings import value_of

NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def cli(target: Any, *_: Any, default: Any = None, **__: Any) -> Any:
    """Call a function or make an object: what has no default gets a value by its name and type."""
    if default is not None or not callable(target):
        return default if default is not None else target
    hints = typing.get_type_hints(target)
    missing = [
        p.name
        for p in inspect.signature(target).parameters.values()
        if p.default is p.empty and p.kind in NAMED
    ]
    return target(**{name: value_of(name, hints.get(name)) for name in missing})


Fire = cli


class Tap:
    """``tap.Tap``: each annotated name is an option."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._parser = argparse.ArgumentParser()

    def add_argument(self, *names: str, **how: Any) -> None:
        """One that is said otherwise."""
        self._parser.add_argument(*names, **how)

    def configure(self) -> None:
        """What its program adds."""

    def process_args(self) -> None:
        """What its program computes of them."""

    def parse_args(self, args: Any = None, *_: Any, **__: Any) -> Any:
        """Itself, with all of them."""
        self.configure()
        known = {action.dest for action in self._parser._actions}
        for name, kind in typing.get_type_hints(type(self)).items():
            if name not in known and not name.startswith("_"):
                self._parser.add_argument(f"--{name}", **_as_option(type(self), name, kind))
        vars(self).update(vars(self._parser.parse_known_args(args)[0]))
        self.process_args()
        return self

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


def _as_option(holder: type, name: str, kind: Any) -> dict[str, Any]:
    how: dict[str, Any] = {
        "required": not hasattr(holder, name),
        "default": getattr(holder, name, None),
    }
    if kind is bool:
        return {**how, "action": argparse.BooleanOptionalAction, "required": False}
    several = typing.get_origin(kind) in (list, tuple, set)
    of = next(iter(typing.get_args(kind)), str) if typing.get_args(kind) else kind
    how["type"] = of if isinstance(of, type) else str
    return {**how, "nargs": "*"} if several else how
