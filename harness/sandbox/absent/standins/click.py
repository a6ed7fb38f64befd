"""Command lines of click and typer: a command is called with its defaults."""

import functools
from collections.abc import Callable
from typing import Any

from harness.sandbox.absent.settings import value_of

Function = Callable[..., Any]

BOOL, INT, FLOAT, STRING = bool, int, float, str


class Command:
    """A function with options; to call it is to give it their defaults."""

    def __init__(self, function: Function) -> None:
        functools.update_wrapper(self, function)
        self.callback = function
        self.commands: list[Command] = []

    def __call__(self, *_: Any, **__: Any) -> Any:
        """The function, and where it is a group, the command in it that trains."""
        options = getattr(self.callback, "__options__", {})
        result = self.callback(**{name: make() for name, make in options.items()})
        if self.commands:
            named = [c for c in self.commands if "train" in c.callback.__name__]
            (named or self.commands)[0]()
        return result

    main = __call__

    def command(self, *_: Any, **__: Any) -> Callable[[Function], "Command"]:
        """One of a group."""

        def add(function: Function) -> Command:
            self.commands.append(Command(function))
            return self.commands[-1]

        return add

    def add_command(self, command: "Command", name: str | None = None) -> None:
        """One more."""
        self.commands.append(command)


def command(*given: Any, **_: Any) -> Any:
    """``@click.command()``."""
    return Command(given[0]) if given and callable(given[0]) else Command


group = command


def option(*names: str, **facts: Any) -> Callable[[Any], Any]:
    """``@click.option("--lr", default=0.1)``."""
    plain = [n for n in names if not n.startswith("-")]
    longest = max((n.partition("/")[0].lstrip("-") for n in names), key=len)
    name = (plain[0] if plain else longest).replace("-", "_").lower()

    def add(function: Any) -> Any:
        target = function.callback if isinstance(function, Command) else function
        options = vars(target).setdefault("__options__", {})
        options[name] = lambda: _value(name, facts)
        return function

    return add


argument = option


def _value(name: str, facts: dict[str, Any]) -> Any:
    kind = facts.get("type")
    if "default" in facts:
        default = facts["default"]() if callable(facts["default"]) else facts["default"]
        plain = kind in (int, float, str) and default is not None and not facts.get("multiple")
        return kind(default) if plain and kind is not None else default
    if isinstance(kind, Choice):
        return kind.choices[0]
    if facts.get("is_flag"):
        return False
    if facts.get("multiple"):
        return ()
    if "required" in facts or not facts:
        return value_of(name, kind if kind in (int, float, str) else None)
    return None


class Choice:
    """One of several."""

    def __init__(self, choices: Any, *_: Any, **__: Any) -> None:
        self.choices = list(choices)


class Path:
    """A path."""

    def __init__(self, *_: Any, **__: Any) -> None: ...


class _Range:
    def __init__(self, *_: Any, **__: Any) -> None: ...


IntRange = FloatRange = File = Tuple = _Range


def echo(message: Any = "", *_: Any, **__: Any) -> None:
    """Print."""
    print(message)  # noqa: T201 - what it is for


def pass_context(function: Function) -> Function:
    """The context is a namespace that holds nothing."""
    return functools.partial(function, type("Context", (), {"obj": {}})())


version_option = help_option = lambda *_, **__: lambda function: function
