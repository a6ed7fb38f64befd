"""Settings as OmegaConf, yacs and their like hand them over: a mapping with attributes, from files that
are there.
"""

import copy
import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import yaml

from harness.sandbox.absent.settings import AbsentSettings, value_of

REFERENCE = re.compile(r"\$\{([^${}]+)\}")
"""How a value names another one: ``${model.width}``."""

NUMBER = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
"""What YAML reads as a word and these packages as a number: ``1e-3``."""

UNGIVEN = "???"
"""What stands where a value has to be given."""

_resolvers: dict[str, Callable[..., Any]] = {}


class Settings(dict[str, Any]):
    """A mapping whose keys are attributes; a value may name another one."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__()
        self.__dict__["_top"] = self
        self.update(*given, **named)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, made(value))
        self._placed(self.__dict__["_top"])

    def _placed(self, top: "Settings") -> None:
        self.__dict__["_top"] = top
        for value in dict.values(self):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, Settings) and one.__dict__["_top"] is not top:
                    one._placed(top)

    def __getitem__(self, key: str) -> Any:
        found = super().__getitem__(key)
        if found == UNGIVEN:
            return value_of(str(key))
        return _resolved(found, self.__dict__["_top"]) if isinstance(found, str) else found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    __delattr__ = dict.__delitem__

    def __iter__(self) -> Iterator[str]:
        """Whoever spreads it (``**settings``) asks for each value."""
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        """What stands there."""
        return self[key] if dict.__contains__(self, key) else default

    def pop(self, key: str, *default: Any) -> Any:
        """The same, once."""
        found = self.get(key)
        super().pop(key, *default)
        return found if found is not None or not default else default[0]

    def values(self) -> Any:
        """All of them."""
        return [self[key] for key in self]

    def items(self) -> Any:
        """The same, with their keys."""
        return [(key, self[key]) for key in self]

    def update(self, *given: Any, **named: Any) -> None:
        """Further ones."""
        for key, value in {**dict(*given), **named}.items():
            self[key] = value

    def __deepcopy__(self, memo: Any) -> Self:
        return type(self)(_plain(self))

    def copy(self) -> Self:
        """The same once more."""
        return copy.deepcopy(self)

    clone = copy

    def freeze(self, *_: Any) -> None:
        """Nothing: nobody is told that something cannot be set."""

    defrost = set_new_allowed = lock = unlock = freeze

    def to_dict(self) -> Any:
        """As Python has them."""
        return _plain(self)

    def dump(self, *_: Any, **__: Any) -> str:
        """As YAML."""
        return yaml.safe_dump(_plain(self))

    def merge_from_file(self, file: Any) -> None:
        """What stands in a file."""
        merge(self, read(os.fspath(file)))

    def merge_from_list(self, words: Any) -> None:
        """Names and values by turns."""
        for name, value in zip(words[::2], words[1::2], strict=True):
            put(self, str(name), parsed(value))

    def merge_from_other_cfg(self, other: Any) -> None:
        """All of another one."""
        merge(self, other)


class Growing(Settings):
    """One in which what is not there is a further one."""

    def __missing__(self, key: str) -> Any:
        self[key] = type(self)()
        return super().__getitem__(key)


def made(value: Any) -> Any:
    """A value as these packages hold it."""
    if isinstance(value, Settings | AbsentSettings):
        return value
    if dataclasses.is_dataclass(value):
        return _structured(value)
    if isinstance(value, Mapping):
        return Settings(value)
    if isinstance(value, list | tuple):
        return type(value)(map(made, value)) if type(value) in (list, tuple) else value
    return float(value) if isinstance(value, str) and NUMBER.fullmatch(value) else value


def _structured(given: Any) -> Settings:
    """What a dataclass has, or one that is made."""
    found = Settings()
    for one in dataclasses.fields(given):
        default = getattr(given, one.name, dataclasses.MISSING)
        if default is dataclasses.MISSING and one.default_factory is not dataclasses.MISSING:
            default = one.default_factory()
        found[one.name] = UNGIVEN if default is dataclasses.MISSING else default
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in value}
    return [*map(_plain, value)] if isinstance(value, list | tuple) else value


def _resolved(text: str, top: Settings) -> Any:
    whole = REFERENCE.fullmatch(text)
    if whole is not None:
        return _named_by(whole[1], top)
    while (found := REFERENCE.search(text)) is not None:
        text = f"{text[: found.start()]}{_named_by(found[1], top)}{text[found.end() :]}"
    return text


def _named_by(name: str, top: Settings) -> Any:
    by, given, words = name.partition(":")
    if not given:
        return _select(top, name.lstrip("."))
    if by in _resolvers:
        return _resolvers[by](*(parsed(_resolved(word.strip(), top)) for word in words.split(",")))
    return (
        os.environ.get(words.partition(",")[0], words.partition(",")[2]) if "env" in by else "data"
    )


def _select(settings: Any, path: str, default: Any = None) -> Any:
    for key in path.split("."):
        if isinstance(settings, list):
            settings = settings[int(key)]
        elif isinstance(settings, Mapping) and key in settings:
            settings = settings[key]
        else:
            return default
    return settings


def put(settings: Any, path: str, value: Any) -> None:
    """Set a value at a path, with the groups above it."""
    *above, last = path.lstrip("+~").split(".")
    for key in above:
        if not isinstance(settings.get(key), dict):
            settings[key] = {}
        settings = settings[key]
    settings[last] = value


def merge(settings: Settings, more: Any) -> None:
    """Further settings, which count more."""
    for key in more:
        value = dict.get(more, key)
        if isinstance(dict.get(settings, key), Settings) and isinstance(value, Mapping):
            merge(dict.__getitem__(settings, key), value)
        elif value != UNGIVEN or key not in settings:
            settings[key] = value


def parsed(word: Any) -> Any:
    """A word of a command line as YAML reads it."""
    return made(yaml.safe_load(word)) if isinstance(word, str) else word


def read(file: str) -> Any:
    """What a file holds; any setting where it is not here."""
    if not os.path.exists(file):
        return AbsentSettings(os.path.basename(file))
    return yaml.safe_load(Path(file).read_text()) or {}


# --------------------------------------------------------------------------------------- OmegaConf


class OmegaConf:
    """``omegaconf.OmegaConf``."""

    @staticmethod
    def load(file: Any) -> Any:
        """What a file holds."""
        named = isinstance(file, str | os.PathLike)
        return made(read(os.fspath(file)) if named else yaml.safe_load(file))

    @staticmethod
    def create(given: Any = None, *_: Any, **__: Any) -> Any:
        """Of a mapping, a list, or YAML."""
        return parsed(given) if isinstance(given, str) else made({} if given is None else given)

    structured = create

    @staticmethod
    def merge(*given: Any) -> Any:
        """The later ones count."""
        found = Settings()
        for one in map(made, given):
            if isinstance(one, AbsentSettings):
                return one
            merge(found, copy.deepcopy(one))
        return found

    unsafe_merge = merge

    @staticmethod
    def from_dotlist(words: Any) -> Settings:
        """Of words like ``model.width=8``."""
        found = Settings()
        for word in words:
            name, given, value = word.lstrip("-").partition("=")
            put(found, name, parsed(value) if given else True)
        return found

    @staticmethod
    def from_cli(words: Any = None) -> Settings:
        """Of those of the command line."""
        return OmegaConf.from_dotlist(sys.argv[1:] if words is None else words)

    @staticmethod
    def to_container(settings: Any, *_: Any, **__: Any) -> Any:
        """As Python has it."""
        return _plain(settings)

    to_object = to_container

    @staticmethod
    def to_yaml(settings: Any, *_: Any, **__: Any) -> str:
        """As YAML."""
        return str(yaml.safe_dump(_plain(settings)))

    @staticmethod
    def register_new_resolver(name: str, function: Callable[..., Any], **_: Any) -> None:
        """What values may name."""
        _resolvers[name] = function

    register_resolver = register_new_resolver

    @staticmethod
    def select(settings: Any, path: str, *_: Any, default: Any = None, **__: Any) -> Any:
        """One by its path."""
        return _select(settings, path, default)

    @staticmethod
    def update(settings: Any, path: str, value: Any = None, **_: Any) -> None:
        """The same, set."""
        put(settings, path, value)

    @staticmethod
    def is_config(thing: Any) -> bool:
        """Whether something is one of them."""
        return isinstance(thing, Settings | AbsentSettings)

    @staticmethod
    def is_missing(settings: Any, key: str) -> bool:
        """Whether it has to be given."""
        return bool(dict.get(settings, key, UNGIVEN) == UNGIVEN)

    @staticmethod
    def missing_keys(_: Any) -> set[str]:
        """None: each has a value by its name."""
        return set()

    save = set_struct = set_readonly = resolve = staticmethod(lambda *_, **__: None)


def munchify(given: Any, *_: Any, **__: Any) -> Any:
    """With attributes."""
    return made(given)


DictConfig = ConfigDict = EasyDict = Munch = Box = DotMap = Settings
Dict, ListConfig, MISSING = Growing, list, UNGIVEN
II = staticmethod(lambda name: f"${{{name}}}")
SI = staticmethod(lambda text: text)
FrozenConfigDict = Settings


def open_dict(_: Any) -> Any:
    """Anything may be set anyway."""
    return nullcontext()


read_write = open_dict


class config:
    """``yacs.config``."""

    CfgNode = Settings


class config_dict:
    """``ml_collections.config_dict``."""

    ConfigDict = FrozenConfigDict = Settings
    placeholder = staticmethod(lambda *_: None)
