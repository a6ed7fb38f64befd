"""Names that older programs use and newer versions of torch, numpy and Python have dropped."""

import collections
import collections.abc
import math
import sys
from types import ModuleType

import numpy as np

PLAIN = {"float": float, "int": int, "bool": bool, "object": object, "str": str, "complex": complex,
         "float_": np.float64, "Inf": np.inf, "NaN": np.nan, "infty": np.inf}  # fmt: skip
"""Names that numpy had for what has another one."""

SIX = {"inf": math.inf, "nan": math.nan, "string_classes": (str, bytes), "int_classes": int,
       "container_abcs": collections.abc}  # fmt: skip
"""What ``torch._six`` held."""


def install() -> None:
    """Put them back; what is still there stays."""
    for name, thing in PLAIN.items():
        if name not in vars(np):
            setattr(np, name, thing)
    six = ModuleType("torch._six")
    vars(six).update(SIX)
    sys.modules.setdefault("torch._six", six)
    for name in ("Iterable", "Mapping", "Sequence", "Callable", "MutableMapping", "Hashable"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
