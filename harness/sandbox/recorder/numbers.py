"""The numbers that a program has at hand where it changes parameters: its rate is one of them."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from harness.sandbox.batches.callers import FILENAME, frame_of_the_program

NORM = re.compile(r"(?:.*_)?(?:g|grad)?_?norms?(?:_.*)?", re.IGNORECASE)
OF_A_PART = re.compile(
    r"max|clip|lim|thr|type|weight|param|av|mean|med|ema|layer|batch|old|prev|last|run",
    re.IGNORECASE,
)
"""How a program calls the norm of its gradient; and its bound, norms of parts, and of many updates."""

SETTINGS = frozenset({"argparse", "types", "omegaconf.dictconfig"})
"""Modules whose objects a program keeps its settings in, beside classes of its own."""

NamedNumber = tuple[str, float]
"""What it is called, empty for one that is written where it is used, and what it is."""

MOST = 200
"""Numbers that are kept."""
FEW = 8
_DEEP = 3
_WIDE = 30


def numbers_around(frame: FrameType | None) -> tuple[NamedNumber, ...]:
    """Those of the functions that are running, of the module, and of the objects that these know."""
    found: dict[NamedNumber, None] = {}
    module: dict[str, Any] = {}
    while frame is not None:
        if frame.f_code.co_filename == FILENAME:
            module = frame.f_globals
            found |= dict.fromkeys(("", n) for n in map(_number, frame.f_code.co_consts) if n)
            found |= dict.fromkeys(_Seeing(module["__name__"]).within(frame.f_locals, _DEEP))
        frame = frame.f_back
    if module:
        found |= dict.fromkeys(_Seeing(module["__name__"]).within(module, _DEEP))
    return tuple(found)[:MOST]


def norms_named() -> tuple[NamedNumber, ...]:
    """What the function of the program that is running calls the norm of its gradient."""
    frame = frame_of_the_program()
    names = frame.f_locals if frame is not None else {}
    norms = ((n, v) for n, v in names.items() if NORM.fullmatch(n) and not OF_A_PART.search(n))
    return tuple((n, number) for n, v in norms if (number := _number(v)) is not None)[:FEW]


class _Seeing:
    """Goes through what names stand for, and through containers and the program's own objects."""

    def __init__(self, module: str) -> None:
        self._own = SETTINGS | {module}

    def within(self, names: Mapping[Any, object], depth: int) -> Iterator[NamedNumber]:
        for name, value in tuple(names.items()):
            if not str(name).startswith("__"):
                yield from self._in(str(name), value, depth)

    def _in(self, name: str, value: object, depth: int) -> Iterator[NamedNumber]:
        number = _number(value)
        if number is not None:
            yield name, number
        elif isinstance(value, Optimizer):
            rates = (_number(group.get("lr")) for group in value.param_groups)
            yield from (("lr", rate) for rate in rates if rate is not None)
        elif depth:
            yield from self._inside(name, value, depth - 1)

    def _inside(self, name: str, value: object, depth: int) -> Iterator[NamedNumber]:
        known = isinstance(value, dict) or type(value).__module__ in SETTINGS
        if isinstance(value, Mapping) and known:  # others may read files when they are asked
            yield from self.within(dict(islice(value.items(), _WIDE)), depth)
        elif isinstance(value, list | tuple):
            for item in value[:_WIDE]:
                if not isinstance(item, Tensor):
                    yield from self._in(name, item, depth)
        else:
            kind = value if isinstance(value, type) else type(value)
            if kind.__module__ in self._own:
                attributes = {**vars(kind), **getattr(value, "__dict__", {})}
                yield from self.within(dict(islice(attributes.items(), _WIDE)), min(depth, 1))


def _number(value: object) -> float | None:
    if isinstance(value, Tensor):
        single = value.numel() == 1 and not isinstance(value, nn.Parameter)
        return float(value.detach()) if single else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
