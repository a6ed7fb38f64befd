"""Copies to a device that is not here: which could have overlapped, and which no worker may make."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch

from harness.sandbox.machine.devices import FACTORIES, is_accelerator
from harness.workloads.workload import Note

T = TypeVar("T")

REFUSED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
    "the 'spawn' start method"
)
"""What torch says where a forked worker touches CUDA, be it to pin memory."""

inside = False
"""Whether a worker is at work."""

_PINNED = "_is_pinned_on_the_stage"


def install(note: Note) -> None:
    """Note copies that need not be waited for, and refuse CUDA in workers as torch does."""
    device = _Device(note)
    for name, patched in device.methods().items():
        setattr(torch.Tensor, name, patched)
    for name in FACTORIES:
        setattr(torch, name, device.making(getattr(torch, name)))


class _Device:
    """The accelerator that is not here, as tensors meet it."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def methods(self) -> Mapping[str, Callable[..., Any]]:
        """What takes the place of methods of tensors."""
        return {
            "to": self._moving(torch.Tensor.to, always=False),
            "cuda": self._moving(torch.Tensor.cuda, always=True),
            "pin_memory": self._pinning(),
            "is_pinned": lambda tensor, *_: bool(getattr(tensor, _PINNED, False)),
        }

    def making(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A factory that makes nothing on the device in a worker."""

        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> Any:
            if is_accelerator(kwargs.get("device")) or kwargs.get("pin_memory"):
                self._refuse()
            return original(*args, **kwargs)

        return make

    def _moving(self, original: Callable[..., Any], *, always: bool) -> Callable[..., Any]:
        @functools.wraps(original)
        def move(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            to = (*args[:1], kwargs.get("device"))
            if not (always or any(map(is_accelerator, to))):
                return original(tensor, *args, **kwargs)
            self._refuse()
            if kwargs.get("non_blocking") or (args[1:] and args[-1] is True):
                self._note("copy", pinned=bool(getattr(tensor, _PINNED, False)))
            return tensor.clone()

        return move

    def _pinning(self) -> Callable[..., Any]:
        def pin(tensor: Any, *_: Any, **__: Any) -> Any:
            self._refuse()
            return pinned(tensor)

        return pin

    def _refuse(self) -> None:
        if inside:
            self._note("cuda-in-worker")
            raise RuntimeError(REFUSED)


def pinned(data: T) -> T:
    """The data, as pinned: each tensor of it. What is made of them is not."""
    found: Any = data
    if isinstance(data, torch.Tensor):
        found = data.clone()
        setattr(found, _PINNED, True)
    elif isinstance(data, Mapping):
        found = {key: pinned(value) for key, value in data.items()}
    elif isinstance(data, tuple) and hasattr(data, "_fields"):
        found = type(data)(*map(pinned, data))
    elif isinstance(data, list | tuple):
        found = type(data)(map(pinned, data))
    result: T = found
    return result
