"""Settings that are read by attributes: the mappings of easydict, addict, munch, box, yacs and more."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import yaml

from harness.sandbox.absent.files import opened
from harness.sandbox.absent.settings import AbsentSettings


class Settings(dict[str, Any]):
    """A mapping of which each part is one too; of a file that is not here it asks that."""

    _absent: AbsentSettings | None = None

    def __init__(self, given: Any = (), *_: Any, **named: Any) -> None:
        super().__init__()
        if isinstance(given, AbsentSettings):
            self.__dict__["_absent"] = given
        self.update(given, **named)

    def __setitem__(self, name: str, value: Any) -> None:
        plain = isinstance(value, dict) and not isinstance(value, Settings | AbsentSettings)
        super().__setitem__(name, type(self)(value) if plain else value)

    __setattr__ = __setitem__

    def __missing__(self, name: str) -> Any:
        if self._absent is None:
            raise KeyError(name)
        return self._absent[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def update(self, *given: Any, **named: Any) -> None:
        """Parts of the same name are joined."""
        for name, value in dict(*given, **named).items():
            inside = dict.get(self, name)
            if isinstance(inside, Settings) and isinstance(value, Mapping):
                inside.update(value)
            else:
                self[name] = value

    def merge_from_file(self, file: Any) -> None:
        """What a file says."""
        with opened(file) as read:
            self.update(yaml.safe_load(read) or {})

    def merge_from_list(self, given: Any) -> None:
        """Names with dots, each before its value."""
        for name, value in zip(given[::2], given[1::2], strict=True):
            *above, last = name.split(".")
            inside = self
            for part in above:
                inside = inside[part]
            inside[last] = value

    def clone(self) -> Self:
        """Another one."""
        return copy.deepcopy(self)

    def freeze(self) -> None:
        """Nothing: who changes it means to."""

    defrost = lock = unlock = freeze


EasyDict = Dict = Munch = Box = AttrDict = CfgNode = ConfigDict = Settings


class config:
    """``yacs.config``."""

    CfgNode = CfgNode


class config_dict:
    """``ml_collections.config_dict``."""

    ConfigDict = ConfigDict
