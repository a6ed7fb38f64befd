"""Names that older programs use and newer versions of torch, numpy and Python have dropped."""

import collections
import collections.abc
import contextlib
import functools
import importlib
import inspect
import math
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from torch.optim import lr_scheduler

PLAIN = {"float": float, "int": int, "bool": bool, "object": object, "str": str, "complex": complex,
         "float_": np.float64, "Inf": np.inf, "NaN": np.nan, "infty": np.inf}  # fmt: skip
"""Names that numpy had for what has another one."""

PILLOW = {"ANTIALIAS": "LANCZOS", "CUBIC": "BICUBIC", "LINEAR": "BILINEAR"}
"""Names that pillow had, and those of today."""

SIX = {"inf": math.inf, "nan": math.nan, "string_classes": (str, bytes), "int_classes": int,
       "container_abcs": collections.abc}  # fmt: skip
"""What ``torch._six`` held."""


def install() -> None:
    """Put them back; what is still there stays."""
    for name, thing in PLAIN.items():
        if name not in vars(np):
            setattr(np, name, thing)
    setattr(np, "fromstring", _from_bytes(np.fromstring))  # noqa: B010 - mypy refuses to assign
    six = ModuleType("torch._six")
    vars(six).update(SIX)
    sys.modules.setdefault("torch._six", six)
    for kind in _below(lr_scheduler.LRScheduler):
        if "__init__" in vars(kind):
            setattr(kind, "__init__", _without(vars(kind)["__init__"], "verbose"))  # noqa: B010 - as above
    with contextlib.suppress(ImportError):  # before 6.0 a text of settings was enough
        yaml = importlib.import_module("yaml")
        inspect.unwrap(yaml.load).__defaults__ = (yaml.SafeLoader,)
    if "transformers" in sys.modules:
        _of_transformers(sys.modules["transformers"])
    with contextlib.suppress(ImportError):
        _of_pillow(importlib.import_module("PIL.Image"))
    for name in ("Iterable", "Mapping", "Sequence", "Callable", "MutableMapping", "Hashable"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))


def _of_pillow(library: Any) -> None:
    for name, now in PILLOW.items():
        if not hasattr(library, name):
            setattr(library, name, getattr(library, now))


def _of_transformers(library: Any) -> None:
    tokenizer = library.PreTrainedTokenizerBase
    for name in ("encode_plus", "batch_encode_plus"):
        if not hasattr(tokenizer, name):
            setattr(tokenizer, name, _encode)


def _encode(self: Any, *texts: Any, pad_to_max_length: bool = False, **how: Any) -> Any:
    """What a tokenizer is called for now."""
    padded = {"padding": "max_length", "truncation": True} if pad_to_max_length else {}
    return self(*texts, **{**padded, **how})


def _below(kind: type) -> Iterator[type]:
    yield kind
    one: type
    for one in type.__subclasses__(kind):
        yield from _below(one)


def _without(original: Any, dropped: str) -> Any:
    """The same that takes an argument which it has no more, and leaves it out."""
    if dropped in inspect.signature(original).parameters:
        return original

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(dropped, None)
        return original(*args, **kwargs)

    return call


def _from_bytes(original: Any) -> Any:
    """``np.fromstring`` of bytes, which is ``np.frombuffer`` now."""

    def read(text: Any, dtype: Any = float, count: int = -1, *, sep: str = "") -> Any:
        if sep:
            return original(text, dtype, count, sep=sep)
        return np.frombuffer(text, dtype, count).copy()

    return read
