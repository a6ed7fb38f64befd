"""Settings of hydra, omegaconf, yacs and ml_collections: dictionaries with attributes."""

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.sandbox.absent.settings import Settings


def main(
    version_base: Any = None,
    config_path: Any = None,
    config_name: str | None = None,
    **_: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``@hydra.main``: the function gets settings that go by their names."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*given: Any) -> Any:
            config = _registered.get(str(config_name))
            found = given[0] if given else config or Settings(f"{config_name or 'config'}.yaml")
            return function(found)

        return call

    return decorate


_registered: dict[str, Any] = {}


class core:
    """``hydra.core``."""

    class config_store:
        """``hydra.core.config_store``."""

        class ConfigStore:
            """Settings that a program declares as classes."""

            @classmethod
            def instance(cls) -> "core.config_store.ConfigStore":
                """The one store."""
                return cls()

            def store(self, name: str, node: Any, *_: Any, **__: Any) -> None:
                """Remember one."""
                _registered[name] = DictConfig(_plain(node() if isinstance(node, type) else node))


def _plain(value: Any) -> Any:
    return (
        dataclasses.asdict(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type)
        else value
    )


class DictConfig(dict[str, Any]):
    """A dictionary with attributes, all the way down."""

    def __init__(self, given: Any = (), *_: Any, **more: Any) -> None:
        super().__init__()
        for name, value in {**dict(_plain(given) or {}), **more}.items():
            self[name] = _config(value)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def clone(self) -> "DictConfig":
        """Another like it."""
        return copy.deepcopy(self)

    def freeze(self) -> None:
        """Nothing has to be kept from changing it."""

    defrost = lock = unlock = freeze

    def merge_from_list(self, given: list[Any]) -> None:
        """Names and values by turns; names with dots lead down."""
        for name, value in zip(given[::2], given[1::2], strict=True):
            *path, last = name.split(".")
            target: Any = self
            for part in path:
                target = target[part]
            target[last] = value

    def merge_from_file(self, *_: Any) -> None:
        """It is not here: the program's own defaults stay."""

    def to_dict(self) -> dict[str, Any]:
        """A plain one."""
        return {k: v.to_dict() if isinstance(v, DictConfig) else v for k, v in self.items()}


def _config(value: Any) -> Any:
    if isinstance(value, Settings | DictConfig):
        return value
    return (
        DictConfig(value)
        if isinstance(value, Mapping) or dataclasses.is_dataclass(value)
        else value
    )


ListConfig = list
CfgNode = CN = ConfigDict = DictConfig


class config:
    """``yacs.config``."""

    CfgNode = DictConfig


class config_dict:
    """``ml_collections.config_dict``."""

    ConfigDict = DictConfig


class OmegaConf:
    """``omegaconf.OmegaConf``."""

    @staticmethod
    def create(given: Any = None) -> Any:
        """Of a dictionary, or of nothing."""
        return _config(given or {})

    @staticmethod
    def structured(given: Any) -> Any:
        """Of a class with defaults, or an object of one."""
        return DictConfig(_plain(given() if isinstance(given, type) else given))

    @staticmethod
    def load(path: Any) -> Any:
        """Of a file, which is not here."""
        return Settings(Path(str(path)).name)

    @staticmethod
    def from_cli(*_: Any) -> Any:
        """Nothing stands on the command line."""
        return DictConfig()

    @staticmethod
    def merge(*given: Any) -> Any:
        """The later ones win."""
        absent = [g for g in given if isinstance(g, Settings)]
        found: Any = absent[0] if absent else DictConfig()
        for one in given:
            for name, value in dict(_plain(one)).items():
                both = isinstance(value, Mapping) and isinstance(dict.get(found, name), Mapping)
                found[name] = OmegaConf.merge(found[name], value) if both else _config(value)
        return found

    @staticmethod
    def to_container(given: Any, *_: Any, **__: Any) -> Any:
        """A plain dictionary."""
        return given.to_dict() if isinstance(given, DictConfig) else given

    to_object = to_container

    @staticmethod
    def to_yaml(given: Any, *_: Any, **__: Any) -> str:
        """For people."""
        return str(given)

    @staticmethod
    def set_struct(*_: Any) -> None:
        """Nothing has to be kept from changing it."""

    set_readonly = resolve = save = register_new_resolver = set_struct


class utils:
    """``hydra.utils``."""

    @staticmethod
    def get_original_cwd() -> str:
        """Where it started."""
        return "."

    @staticmethod
    def to_absolute_path(path: str) -> str:
        """The same path."""
        return path
