"""Packages that call what they are given with settings from the command line: with its own defaults."""

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Any

from harness.sandbox.absent.settings import value_of


def called(target: Any, *given: Any) -> Any:
    """Call a function or make an object: what has no default gets a value by its name and type."""
    if not callable(target):
        return target
    hints = _hints(target)
    missing: dict[str, Any] = {}
    parameters = [*inspect.signature(target).parameters.values()][len(given) :]
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            hint = hints.get(parameter.name)
            made = called(hint) if dataclasses.is_dataclass(hint) else None
            missing[parameter.name] = made or value_of(parameter.name, _plain(hint))
    return target(*given, **missing)


def _hints(target: Any) -> dict[str, Any]:
    own = vars(target).get("__init__", target) if isinstance(target, type) else target
    try:
        return typing.get_type_hints(own)
    except (NameError, TypeError):
        return {}


def _plain(hint: Any) -> type | None:
    return hint if isinstance(hint, type) else None


def Fire(component: Any = None, *_: Any, **__: Any) -> Any:
    """``fire.Fire``: a class is only made, for which of its methods is meant stands on no line."""
    return called(component)


def cli(target: Any, *_: Any, default: Any = None, **__: Any) -> Any:
    """``tyro.cli``, and ``parse`` of others: an object with the program's defaults."""
    return default if default is not None else called(target)


CLI = auto_cli = cli


def parse(config_class: Any = None, *_: Any, **__: Any) -> Any:
    """``draccus.parse(Config)``."""
    return called(config_class)


def wrap(*_: Any, **__: Any) -> Callable[..., Any]:
    """``@draccus.wrap()``: the function gets an object of the class that its parameter names."""
    return lambda function: lambda *given: called(function, *given)


class extras:
    """``tyro.extras``."""
