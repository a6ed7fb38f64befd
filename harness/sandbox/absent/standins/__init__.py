"""Packages that hand over data, models or arguments, as small as they can be.

Each module here stands in for one package. Its classes in lower case are submodules; ``lookup`` of a
submodule, where there is one, makes what has no attribute of its own. What a stand-in does not have,
whoever uses it needs the package for.
"""

import importlib
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

MODULES: dict[str, str] = {
    "torchvision": "torchvision",
    "timm": "timm",
    "datasets": "hub_datasets",
    "tiktoken": "tiktoken",
    "fire": "starters",
    "tyro": "starters",
    "jsonargparse": "starters",
    "simple_parsing": "starters",
    "draccus": "starters",
    "pyrallis": "starters",
    "gym": "gymnasium",
    "gymnasium": "gymnasium",
    "PIL": "pillow",
}
"""Top-level packages, each with the module of this folder that stands in for it."""

ALWAYS = frozenset({"PIL", "datasets", "fire", "gym", "gymnasium", "tiktoken", "tyro"})
"""Those that are replaced even where they are loaded: they read command lines, a network, or files
that the jail does not open.
"""


class LentModule(ModuleType):
    """A module of a stand-in."""

    def __init__(self, name: str, parts: dict[str, Any], absent: Callable[[str], Any]) -> None:
        """``absent``: what to say of a name that it does not have."""
        super().__init__(name)
        named = {k: v for k, v in parts.items() if not k.startswith("__") or k == "__version__"}
        for key, value in named.items():
            self.__dict__[key] = value.__func__ if isinstance(value, staticmethod) else value
        self.__dict__.update(_absent=absent, _name=name)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if (
            isinstance(found, type)
            and found.__module__.startswith(__name__)
            and found.__name__.islower()
        ):
            return LentModule(f"{self._name}.{name}", dict(vars(found)), self._absent)
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        lookup = self.__dict__.get("lookup")
        found = lookup(name) if lookup is not None else None
        return self.__dict__["_absent"](name) if found is None else found


def module(name: str, absent: Callable[[str], Any]) -> ModuleType | None:
    """What stands in for a module of a package, by its dotted name; ``None`` where nothing does.

    ``absent``: what to say of a name that it does not have.
    """
    top, _, rest = name.partition(".")
    if top not in MODULES:
        return None
    found: Any = _loaded(MODULES[top])
    for part in rest.split(".") if rest else ():
        found = vars(found).get(part)
        if not isinstance(found, type | ModuleType):
            return None
    return LentModule(name, dict(vars(found)), absent)


@cache
def _loaded(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def load_all() -> None:
    """Import every one of them: inside the jail there is nothing to import them from."""
    for name in set(MODULES.values()):
        _loaded(name)
