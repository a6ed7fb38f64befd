"""Checkpoints that are not here: what is restored from one stays as it was initialised."""

import functools
from collections.abc import Callable
from typing import Any, NoReturn, Self

import torch
from torch import nn, optim

from harness.sandbox.absent.documents import OpenPart
from harness.sandbox.absent.lent import lend
from harness.sandbox.unbound import Unbound

_absent: list[str] = []
"""File names of the checkpoints that were asked for, in order."""


class AbsentState(dict[str, Any]):
    """What such a file holds, or a part of it: a state without entries, or the number 0."""

    def __init__(self, file: str) -> None:
        """``file``: its name."""
        super().__init__()
        self.__dict__["_file"] = file

    def __missing__(self, key: str) -> Self:
        return self

    def __contains__(self, key: object) -> bool:
        return True

    def get(self, key: Any, default: Any = None) -> Any:
        """What the program falls back on, or a part of this."""
        return self if default is None else default

    def state_dict(self) -> Self:
        """Itself: some programs save whole models."""
        return self

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unbound(self._file, "is a file that is not here")

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Nothing: a whole model was saved in it."""
        raise Unbound(self._file, "is a file that is not here")

    def __format__(self, how: str) -> str:
        return format(0.0, how) if how else "0"

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __add__(self, other: Any) -> Any:
        return other

    def __sub__(self, other: Any) -> Any:
        return -other

    def __lt__(self, other: Any) -> bool:
        return bool(other > 0)

    def __gt__(self, other: Any) -> bool:
        return bool(other < 0)

    def __le__(self, other: Any) -> bool:
        return bool(other >= 0)

    def __ge__(self, other: Any) -> bool:
        return bool(other <= 0)

    __radd__, __index__ = __add__, __int__


def absent_state(file: str) -> AbsentState:
    """The state that is lent for a file."""
    lend(f"{file}: what is restored from it stays as it was initialised")
    _absent.append(file)
    return AbsentState(file)


def asked_for() -> tuple[str, ...]:
    """The files that states were lent for."""
    return tuple(_absent)


def install() -> None:
    """Let models, optimizers, schedules and scalers take such a state."""
    for kind in (nn.Module, optim.Optimizer, optim.lr_scheduler.LRScheduler, torch.amp.GradScaler):
        setattr(kind, "load_state_dict", _restoring(kind.load_state_dict))  # noqa: B010 - mypy refuses


def _restoring(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_state_dict(self: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        lent = isinstance(state, AbsentState | OpenPart)  # an empty one is asked for nothing
        if not lent and (state or not _absent):
            return original(self, state, *args, **kwargs)
        if not isinstance(self, nn.Module):
            return None
        kept = {name: value.clone() for name, value in self.state_dict().items()}
        return original(self, kept)

    return load_state_dict
