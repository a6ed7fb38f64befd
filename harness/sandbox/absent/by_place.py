"""What takes the place of a function takes what the program names: ``torch.save(obj=net, f=path)``."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

FIRST = 2
"""So many parameters a wrapper has in places of its own."""


def stands_for(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As ``functools.wraps``; what is given by the name of a first parameter comes in its place."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            placed, names = list(args), _names(original) if kwargs else []
            while len(placed) < len(names) and names[len(placed)] in kwargs:
                placed.append(kwargs.pop(names[len(placed)]))
            return function(*placed, **kwargs)

        return call

    return decorate


def _names(original: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(original).parameters.values()
    except (TypeError, ValueError):  # written in C without saying
        return []
    places = (p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in places][:FIRST]
