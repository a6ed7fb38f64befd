"""Values by name, for settings that the program asks for and nobody gives."""

import ast
import os
import re
import types
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.unbound import Unbound
from harness.syntax import walk

FILE, OF_FILES = "config.yaml", re.compile(r"\.(ya?ml|json|toml)$")
"""A file of settings, and how the names of such files end."""

VALUES: tuple[tuple[str, Any], ...] = (
    (r"(min|final|end)_?lr|lr_?min|eta_?min", 1e-4),
    (r"warm_?up", 1),
    (r"lr|.*learning_?rate|base_?lr|max_?lr|step_?size_?up", 1e-3),
    (r".*accum.*|.*grad_acc.*|update_freq|iter_size", 2),
    (r".*clip.*|max_?norm|max_?grad.*", 1.0),
    (r".*epochs?|n_?ep|.*passes", 2),
    (r".*batch.*|bs|bsz", 8),
    (r".*seed", 0),
    (r".*(interval|freq|every|period)", 10),
    (r".*(weight_?decay|wd|dropout|drop|drop_?path|drop_?rate|smoothing|noise|eps_?ls)", 0.0),
    (r"momentum|gamma|.*decay|alpha|rho|tau", 0.9),
    (r"betas?", (0.9, 0.999)),
    (r"beta_?1", 0.9),
    (r"beta_?2", 0.999),
    (r"eps(ilon)?", 1e-8),
    (r".*(num_?heads?|n_?heads?|heads|nhead)", 2),
    (r".*(layers?|depth|blocks|n_?res\w*)", 2),
    (r".*(classes|num_?labels?|n_?cls)", 10),
    (r".*(vocab|vocab_?size|n_?tokens?)", 256),
    (r".*(channels|in_?chans?|nc)", 3),
    (r".*(image|img|input|crop)_?(size|res\w*)|resolution", 32),
    (r".*(block_?size|seq\w*|context\w*|max_?len\w*|bptt|max_?position\w*|length)", 16),
    (r".*(hidden|embed|embd|dim|width|d_?model|emsize|nhid|n_?units|inner|features|ngf|ndf|nz)\w*", 16),
    (r".*(workers|num_?proc)", 0),
    (r".*(world_?size|num_?nodes|nodes|ngpus?|gpus|devices)", 1),
    (r".*rank", 0),
    (r"t|temp|temperature", 4),
    (r"milestones", (1,)),
    (r"device", "cpu"),
    (r"dtype|precision", "float32"),
    (r".*(steps|iters?|iterations|updates)", 20),
    (r".*(ratio|frac\w*|prob\w*|p)", 0.1),
    (r".*(optim\w*|opt)", "adamw"),
    (r".*(sched\w*)", "cosine"),
    (r".*(loss|criterion)", "mse"),
    (r".*(resume|checkpoint|ckpt|pretrained|load\w*)(_?(path|from|dir|file))?", ""),
    (r".*(config|cfg|conf)(_?(path|file|name))?", FILE),
    (r".*(path|dir|dirs|folder|root|file|filename|data|dataset|out|output|save|log|logs|name|tag|project|run)",
     "data"),
    (r".*(use|do|is|enable|with|no)_\w+|amp|fp16|half|bf16|compile|verbose|debug|shuffle|pin_memory|wandb|eval|test",
     False),
)  # fmt: skip
"""Patterns of whole names in lower case, first match first, and the value that such a setting gets."""

_COMPILED = tuple((re.compile(pattern), value) for pattern, value in VALUES)
_UNKNOWN = object()
_spread: list["AbsentSettings"] = []
"""Settings that are not here and whose names were asked for, as by ``**settings``."""


def value_of(name: str, kind: type | None = None) -> Any:
    """The value of a setting by its name. ``kind``: the type that is asked for, where one is.

    Raises ``Unbound`` for a name that tells nothing, where no type is asked for.
    """
    found = known_value(name)
    if kind in (int, float, str, bool):
        found = _of_kind(found, kind, name)
    if found is _UNKNOWN:
        raise Unbound(name, "is a setting that nobody gives, and its name does not tell its value")
    lend(f"{name} = {found!r}: a setting that nobody gives")
    return found


def compared_words(tree: ast.AST) -> dict[str, str]:
    """Of each setting that the program compares with words (``args.net == "vgg16"``) the first one."""
    found: dict[str, str] = {}
    for node in walk(tree):
        match node:
            case ast.Compare(
                left=ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=str(word))],
            ):
                found.setdefault(name, word)
    return found


def argument(name: str, words: Mapping[str, str] = MappingProxyType({})) -> Any:
    """The value of a required argument of a command line: one of the ``words`` with which the program
    compares it, by its name, or a word.
    """
    found = words.get(name) or known_value(name)
    found = "data" if found is _UNKNOWN else found
    if found == FILE:  # one of its own, where it speaks of one
        found = next(
            (str(one) for one in sorted(Path().rglob("*")) if OF_FILES.search(one.name)), FILE
        )
    lend(f"{name} = {found!r}: a required argument")
    return found


def known_value(name: str) -> Any:
    """The value that goes with a name; a mark of its own where none does."""
    plain = name.lower().strip("-").replace("-", "_")
    return next((value for pattern, value in _COMPILED if pattern.fullmatch(plain)), _UNKNOWN)


def _of_kind(found: Any, kind: type, name: str) -> Any:
    fits = isinstance(found, int | float) if kind in (int, float) else isinstance(found, kind)
    if fits and not (isinstance(found, bool) and kind is not bool):
        return kind(found) if not (kind is int and isinstance(found, float)) else max(1, int(found))
    return {int: 1, float: 0.1, str: name, bool: False}[kind]


VARIABLE = "environment "
"""What begins the names under which it is handed on which variables a program takes for granted."""


def learned(error: BaseException) -> tuple[str, str] | None:
    """The variable of the environment that ended a program, and its value by its name."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    asked = trace is not None and trace.tb_frame.f_globals.get("__name__") == "os"
    if not asked or not isinstance(error, KeyError) or not error.args:
        return None
    found = known_value(str(error.args[0]))
    return f"{VARIABLE}{error.args[0]}", "data" if found is _UNKNOWN else str(found)


def install(shown: ShownByProgram) -> None:
    """Set the variables that first runs asked for, and let namespaces be made of settings."""
    for name, value in shown.known.items():
        if name.startswith(VARIABLE):
            os.environ[name.removeprefix(VARIABLE)] = value
            lend(f"{name.removeprefix(VARIABLE)} = {value!r}: a variable that nobody sets")
    if "SimpleNamespace" in shown.source:
        setattr(types, "SimpleNamespace", LentNamespace)  # noqa: B010 - mypy refuses to assign


class LentNamespace(types.SimpleNamespace):
    """A namespace; what is made of settings that are not here has them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not _spread:
            raise AttributeError(f"'types.SimpleNamespace' object has no attribute {name!r}")
        found = _spread[-1][name]
        setattr(self, name, found)
        return found


class Word(str):  # noqa: SLOT000 - one that remembers
    """A setting that is a word, or a group of settings: ``cfg.optimizer.lr``."""

    group: "AbsentSettings"

    @classmethod
    def of(cls, word: str, group: "AbsentSettings") -> "Word":
        """The word; asked for parts it is the group."""
        found = cls(word)
        found.group = group
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "group":
            raise AttributeError(name)
        return self.group[name]

    def __getitem__(self, key: Any) -> Any:
        return self.group[key] if isinstance(key, str) else super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """Of the group."""
        return self.group.get(key, default)


class AbsentSettings(dict[str, Any]):
    """A file of settings that is not here, or a part of one: asked for a value, it goes by the name."""

    def __init__(self, source: str, given: Any = (), path: str = "") -> None:
        """``source``: the file; ``given``: settings that are known; ``path``: which part of it."""
        super().__init__(given)
        self.__dict__["_source"] = source
        self.__dict__["_path"] = path

    def __missing__(self, key: Any) -> Any:
        found = known_value(str(key))
        if found is _UNKNOWN:
            found = AbsentSettings(self._source, path=f"{self._path}{key}.")
        else:
            lend(f"{self._path}{key} = {found!r}: {self._source} is not here")
            if isinstance(found, str):
                found = Word.of(found, AbsentSettings(self._source, path=f"{self._path}{key}."))
        self[key] = found
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or known_value(str(key)) is not _UNKNOWN

    def get(self, key: Any, default: Any = None) -> Any:
        """What the program falls back on is its own setting."""
        return self[key] if dict.__contains__(self, key) else default

    def update(self, *given: Any, **named: Any) -> None:
        """Settings that are known, be they the arguments of a command line."""
        super().update(
            *(vars(one) if isinstance(one, Namespace) else one for one in given), **named
        )

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def keys(self) -> Any:
        """Of those that are known; what it is spread into may ask for more."""
        _spread.append(self)
        return super().keys()

    def _used(self, *_: Any) -> Any:
        name = self._path.rstrip(".") or "it"
        raise Unbound(name, f"is a setting of {self._source}, which is not here")

    __call__ = __add__ = __radd__ = __mul__ = __rmul__ = __float__ = __index__ = __int__ = _used
    __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _used
    __lt__ = __gt__ = __le__ = __ge__ = __mod__ = __fspath__ = _used
    __hash__ = _used  # type: ignore[assignment]  # looked up in a table of the program
