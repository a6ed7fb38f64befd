"""``fire`` and ``tyro``: they call what they are given with its own defaults, for there is no command
line.
"""

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
