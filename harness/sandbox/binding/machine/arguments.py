"""Command lines: a program that parses arguments gets none, and every option has its default."""

import argparse
import functools
from collections.abc import Callable
from typing import Any

_supply: Callable[[str], Any] = lambda name: None  # noqa: E731 - replaced by ``supplied_by``


def supplied_by(supply: Callable[[str], Any]) -> None:
    """Get the values of required arguments from ``supply``, by name."""
    global _supply  # noqa: PLW0603 - one candidate a process
    _supply = supply


def install() -> None:
    """Patch argparse."""
    original = argparse.ArgumentParser.parse_known_args

    @functools.wraps(original)
    def parse_known_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        namespace = namespace or argparse.Namespace()
        for action in self._actions:
            positional = not action.option_strings and action.nargs not in ("?", "*")
            if (action.required or positional) and action.default is None:
                action.default = _supply(action.dest)
                setattr(namespace, action.dest, action.default)
            action.required = False
            if positional:
                action.nargs = "?"
        return original(self, [] if args is None else args, namespace)

    argparse.ArgumentParser.parse_known_args = parse_known_args  # type: ignore[method-assign]  # what it is here for
