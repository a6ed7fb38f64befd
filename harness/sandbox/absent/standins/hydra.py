"""``hydra``: a program is called with the settings of its files and of its command line."""

import functools
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from harness.sandbox.absent.inert import Inert
from harness.sandbox.absent.settings import AbsentSettings
from harness.sandbox.absent.standins.configurations import Settings, made, merge, parsed, put, read

GLOBAL = re.compile(r"#\s*@package\s+_global_")
"""How a file says that its settings stand above those of its group."""

_stored: dict[str, Any] = {}
_searched: list[str] = []
"""Folders of settings, the innermost last."""


def main(
    config_path: str | None = None, config_name: str | None = None, *_: Any, **__: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``hydra.main``: the settings of a program by their name, with its command line."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def started(*given: Any) -> Any:
            near = os.path.dirname(function.__globals__.get("__file__", ""))
            folder, name = os.path.join(near, config_path or ""), config_name
            if folder.endswith((".yaml", ".yml")):  # as before 1.0
                folder, name = os.path.split(folder)
            return function(*(given or [_composed(folder, name, sys.argv[1:])]))

        return started

    return decorate


def compose(config_name: str | None = None, overrides: Any = (), **_: Any) -> Any:
    """``hydra.compose``."""
    return _composed(_searched[-1] if _searched else "", config_name, [*overrides])


@contextmanager
def initialize(
    config_path: str | None = None, *_: Any, config_dir: str = "", **__: Any
) -> Iterator[None]:
    """Where settings are looked for."""
    _searched.append(config_path or config_dir)
    yield


initialize_config_dir = initialize


def _composed(folder: str, name: str | None, words: list[str]) -> Any:
    """The settings of a name, with the groups that they choose and what the command line says."""
    said = dict(word.lstrip("+").partition("=")[::2] for word in words if "=" in word)
    found = _file(folder, name or "", said)
    if isinstance(found, AbsentSettings):
        return found
    for path, value in said.items():
        if not os.path.isdir(os.path.join(folder, path)):
            put(found, path, parsed(value))
    return found


def _file(folder: str, name: str, said: Mapping[str, str]) -> Any:
    """What one file of settings comes to."""
    plain = name.removesuffix(".yaml")
    if plain in _stored or not name:
        given = made(_stored.get(plain, {})).copy()
    else:
        given = read(os.path.join(folder, name if name.endswith(".yml") else f"{plain}.yaml"))
        if isinstance(given, AbsentSettings):
            return given
        given = Settings(given)
    found, defaults = Settings(), dict.pop(given, "defaults", [])
    for one in [*defaults, *["_self_"] * ("_self_" not in defaults)]:
        for group, choice in one.items() if isinstance(one, Mapping) else [("", one)]:
            if choice == "_self_":
                merge(found, given)
            elif choice is not None and "hydra/" not in group:
                merge(found, _chosen(folder, group, str(choice), said))
    return found


def _chosen(folder: str, group: str, choice: str, said: Mapping[str, str]) -> Any:
    """A file of a group, under the group's name or where it says."""
    group, _, place = group.removeprefix("override ").removeprefix("optional ").partition("@")
    choice = said.get(group, choice)
    held = _file(folder, os.path.join(group, choice), said)
    file = Path(folder, group, f"{choice.removesuffix('.yaml')}.yaml")
    everywhere = file.exists() and GLOBAL.search(file.read_text())
    if everywhere or place == "_global_" or not group:
        return held
    found = Settings()
    put(found, (place or group).replace("/", "."), held)
    return found


class utils:
    """``hydra.utils``."""

    to_absolute_path = staticmethod(os.path.abspath)
    get_original_cwd = staticmethod(os.getcwd)

    @staticmethod
    def get_class(path: str) -> Any:
        """What stands at a dotted path."""
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)

    get_method = get_object = get_class

    @staticmethod
    def instantiate(settings: Any, *given: Any, **named: Any) -> Any:
        """Make what settings name by ``_target_``, of the others; what they hold of that kind before."""
        if isinstance(settings, list):
            return [utils.instantiate(one) for one in settings]
        if not isinstance(settings, Mapping):
            return settings
        nested = settings.get("_recursive_", True)
        make = utils.instantiate if nested else lambda one: one
        parts = {k: make(settings[k]) for k in settings if k not in HYDRAS} | named
        if "_target_" not in settings:
            return Settings(parts)
        target = utils.get_class(settings["_target_"])
        placed = (*given, *settings.get("_args_", ()))
        return (
            functools.partial(target, *placed, **parts)
            if settings.get("_partial_")
            else target(*placed, **parts)
        )

    call = instantiate


HYDRAS = frozenset({"_target_", "_args_", "_partial_", "_recursive_", "_convert_"})
"""Settings that say how something is made."""


class core:
    """``hydra.core``: settings that stand in the program, and those of Hydra itself."""

    class config_store:
        """``hydra.core.config_store``."""

        class ConfigStore:
            """Settings by name."""

            @classmethod
            def instance(cls) -> type[Self]:
                """The only one."""
                return cls

            @staticmethod
            def store(
                name: str = "", node: Any = None, group: str = "", *_: Any, **__: Any
            ) -> None:
                """One more."""
                _stored[os.path.join(group or "", name.removesuffix(".yaml"))] = node

    class hydra_config:
        """``hydra.core.hydra_config``."""

        class HydraConfig:
            """What Hydra knows of a run."""

            @staticmethod
            def get() -> Any:
                """It runs here."""
                here = SimpleNamespace(output_dir=".", cwd=".", name="run", num=0, choices={})
                return SimpleNamespace(
                    runtime=here, job=here, run=SimpleNamespace(dir="."), mode=Inert()
                )

    class global_hydra:
        """``hydra.core.global_hydra``."""

        GlobalHydra = Inert()
