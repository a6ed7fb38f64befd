"""The name under which Inspect finds a task, a solver or a scorer: ``harness/NAME``."""

from collections.abc import Callable
from typing import Any, TypeVar

from inspect_ai.util import registry_info

Made = TypeVar("Made", bound=Callable[..., Any])

PACKAGE = "harness/"


def registered(register: Callable[..., Callable[[Made], Made]]) -> Callable[[Made], Made]:
    """Register a function by Inspect's decorator, under its own name in our package.

    Inspect puts the package in front only where its distribution has the same name, or lies in
    ``site-packages``; ours in a checkout does not.
    """

    def decorate(made: Made) -> Made:
        found = register(name=made.__name__)(made)
        if registry_info(found).name.startswith(PACKAGE):
            return found
        return register(name=f"{PACKAGE}{made.__name__}")(made)

    return decorate
