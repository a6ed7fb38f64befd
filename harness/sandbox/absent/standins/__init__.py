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

from harness.sandbox.absent.inert import Inert

MODULES: dict[str, str] = {
    "torchvision": "torchvision",
    "timm": "timm",
    "datasets": "hub_datasets",
    "fire": "starters",
    "tyro": "starters",
    "tap": "starters",
    "gym": "gymnasium",
    "gymnasium": "gymnasium",
    "requests": "requests",
    "tiktoken": "tiktoken",
    "sklearn": "sklearn",
    "cv2": "cv2",
    "skimage": "skimage",
    "absl": "absl",
    "albumentations": "albumentations",
    "torchaudio": "torchaudio",
    "librosa": "librosa",
    "soundfile": "librosa",
    "h5py": "h5py",
    "hydra": "hydra",
    **dict.fromkeys(
        ("omegaconf", "yacs", "easydict", "ml_collections", "addict", "munch", "box"),
        "configurations",
    ),
}
"""Top-level packages, each with the module of this folder that stands in for it."""

ALWAYS = frozenset({"datasets", "fire", "gym", "gymnasium", "requests", "tiktoken", "tyro"})
"""Those that are replaced even where they are loaded: they read command lines or a network."""

PARTS: dict[str, dict[str, str]] = {
    "torchvision": {
        "torchvision.datasets": "datasets",
        "torchvision.models": "models",
    },
    "timm": {"timm": "", "timm.models": ""},
}
"""Packages of which only what would download something is replaced where they are installed: by
module, the part of the stand-in that has it.
"""

SAME = frozenset({"v2", "transforms"})
"""Submodules of ``torchvision.transforms`` that are the same once more."""


class AnyVersion(str):
    """Newer than all, and the one that is asked for: programs refuse to run with others."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


VERSION = AnyVersion("999.0")


class LentModule(ModuleType):
    """A module of a stand-in."""

    def __init__(self, name: str, parts: dict[str, Any], absent: Callable[[str], Any]) -> None:
        """``absent``: what to say of a name that it does not have."""
        super().__init__(name)
        for key, value in parts.items():
            if isinstance(value, type) and key.islower():
                self.__dict__[key] = LentModule(f"{name}.{key}", dict(vars(value)), absent)
            elif not key.startswith("__") or key == "__version__":
                plain = isinstance(value, staticmethod)
                self.__dict__[key] = value.__func__ if plain else value
        self.__dict__["_absent"] = absent

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return VERSION
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        lookup = self.__dict__.get("lookup")
        if lookup is not None and name in SAME:
            return self
        found = lookup(name) if lookup is not None else None
        return self.__dict__["_absent"](name) if found is None else found


def module(name: str, absent: Callable[[str], Any]) -> ModuleType | None:
    """What stands in for a module of a package, by its dotted name; ``None`` where nothing does.

    ``absent``: what to say of a name that it does not have.
    """
    top, _, rest = name.partition(".")
    if top not in MODULES:
        return None
    parts = dict(vars(_loaded(MODULES[top])))
    found = LentModule(top, parts, absent)
    for part in rest.split(".") if rest else ():
        inside = found.__dict__.get(part)
        if isinstance(inside, LentModule):
            found = inside
        elif "lookup" not in vars(found):  # the files of the others have what is found in them
            return None
    return found


def replace_parts(top: str) -> None:
    """Of an installed package, replace the names that a stand-in has in the modules that download."""
    for name, part in PARTS[top].items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        given: Any = _loaded(MODULES[top])
        given = getattr(given, part) if part else given
        lookup = getattr(given, "lookup", lambda _: None)
        for own in [n for n in vars(module) if not n.startswith("_")]:
            found = vars(given).get(own) or lookup(own)
            known = callable(vars(module)[own]) and not isinstance(found, Inert)
            if found is not None and known:
                setattr(module, own, found)


@cache
def _loaded(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def load_all() -> None:
    """Import every one of them: inside the jail there is nothing to import them from."""
    for name in set(MODULES.values()):
        _loaded(name)
