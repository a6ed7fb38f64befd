"""Command lines: a program that parses arguments gets none, and every option has its default.

What is required gets a value that fits: the first of its choices, a number or a word by its name and
type. Of several commands the one that trains is meant.
"""

import argparse
import functools
import re
from collections.abc import Callable
from typing import Any

LISTED = re.compile(r"\w+(?=\s*[|])|(?<=[|])\s*\w+")
"""Words of a help text that lists what may be given: ``cifar10 | mnist | fake``."""

KNOWN = ("fake", "fakedata", "cifar10", "mnist")
"""Those that can be had anywhere."""

DATA = re.compile(r"data_?(root|dir|path|folder)")
"""Options without which no program trains, be they required or not."""

_supply: Callable[[str], Any] = lambda name: None  # noqa: E731 - replaced by ``supplied_by``


def supplied_by(supply: Callable[[str], Any]) -> None:
    """Get the values of required arguments from ``supply``, by name."""
    global _supply  # noqa: PLW0603 - one candidate a process
    _supply = supply


_ARGPARSES_OWN = argparse.ArgumentParser.parse_known_args


def as_given() -> None:
    """Parse arguments as they are given: for who really has a command line."""
    setattr(argparse.ArgumentParser, "parse_known_args", _ARGPARSES_OWN)  # noqa: B010 - mypy refuses to assign


def install() -> None:
    """Patch argparse."""
    original = argparse.ArgumentParser.parse_known_args

    @functools.wraps(original)
    def parse_known_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        namespace = namespace or argparse.Namespace()
        given = [] if args is None else [*args]
        commands = None
        for action in self._actions:
            positional = not action.option_strings and action.nargs not in ("?", "*")
            if isinstance(action, argparse._SubParsersAction):
                commands = action
                continue
            wanted = action.required or positional or DATA.fullmatch(action.dest) is not None
            if wanted and action.default is None:
                action.default = _value(action)
                setattr(namespace, action.dest, action.default)
            action.required = False
            if positional:
                action.nargs = "?"
        if commands is not None and not any(word in commands.choices for word in given):
            given.append(_command(commands))
        return original(self, given, namespace)

    argparse.ArgumentParser.parse_known_args = parse_known_args  # type: ignore[method-assign]  # what it is here for


def _command(commands: Any) -> str:
    """The command that trains, or the first."""
    names = [str(name) for name in commands.choices]
    return next((name for name in names if "train" in name or "fit" in name), names[0])


def _value(action: Any) -> Any:
    """What a required argument is given; a list where it takes several."""
    one = _one(action)
    if action.nargs in (None, "?"):
        return one
    return [one] * (action.nargs if isinstance(action.nargs, int) else 1)


def _one(action: Any) -> Any:
    if action.choices:
        return next(iter(action.choices))
    listed = [word.lower() for word in LISTED.findall(action.help or "")]
    if (known := next((word for word in KNOWN if word in listed), None)) is not None:
        return known
    found = _supply(action.dest)
    kind = action.type
    if kind in (int, float, str) and not isinstance(found, kind):
        try:
            return kind(found)
        except (TypeError, ValueError):
            return {int: 1, float: 0.1, str: action.dest}[kind]
    return kind(found) if callable(kind) and isinstance(found, str) else found
