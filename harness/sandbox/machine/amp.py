"""Mixed precision spelled for CUDA, run on a CPU with the same protocol.

A CUDA scaler on a CPU disables itself in silence, and every mistake in its protocol disappears with
it. A CPU scaler is the same class with the same checks. Constructors are patched in place, so that
classes stay the classes they were.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.amp.autocast_mode import autocast

from harness.sandbox.machine.devices import ACCELERATORS, is_accelerator

AUTOCAST = (torch.float32, torch.float16, torch.bfloat16)
"""Types that autocast casts; float64 it leaves alone."""

IN_FULL_PRECISION: Mapping[Any, Sequence[str]] = {
    torch._VF: ("lstm",),
    torch: ("matmul", "bmm"),
    torch.Tensor: ("matmul", "bmm", "__matmul__"),
    nn.functional: (
        "linear", *(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)),
    ),
}  # fmt: skip
"""Functions that a CPU computes in float16 ten times as slowly as in single precision, or not at all."""


def install() -> None:
    """Patch the two classes from which every scaler and every autocast inherits."""
    _scaler()
    _autocast()
    for owner, names in IN_FULL_PRECISION.items():
        for name in names:
            setattr(owner, name, _in_full_precision(getattr(owner, name)))


def _scaler() -> None:
    original = torch.amp.GradScaler.__init__

    @functools.wraps(original)
    def on_the_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("device", None)
        if args and isinstance(args[0], str | torch.device):
            args = args[1:]
        original(self, "cpu", *args, **kwargs)

    setattr(torch.amp.GradScaler, "__init__", on_the_cpu)  # noqa: B010 - mypy refuses otherwise


def posted_autocast(device_type: Any = "cuda", *args: Any, **kwargs: Any) -> autocast:
    """A free name ``autocast``: with or without a device as its first argument."""
    if not isinstance(device_type, str):
        return autocast("cuda", kwargs.pop("dtype", None), device_type, *args, **kwargs)
    return autocast(device_type, *args, **kwargs)


def _autocast() -> None:
    original = autocast.__init__

    @functools.wraps(original)
    def on_the_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        if "device_type" in kwargs:
            args = (kwargs.pop("device_type"), *args)
        if args and isinstance(args[0], str) and args[0] in ACCELERATORS:
            args = ("cpu", *args[1:])
            if len(args) == 1 and kwargs.get("dtype") is None:
                kwargs["dtype"] = torch.float16
        original(self, *args, **kwargs)

    setattr(autocast, "__init__", on_the_cpu)  # noqa: B010 - mypy refuses to assign
    is_enabled = torch.is_autocast_enabled
    torch.is_autocast_enabled = lambda device="cpu": is_enabled(
        "cpu" if is_accelerator(device) else device
    )


def _in_full_precision(original: Callable[..., Any]) -> Callable[..., Any]:
    """Where autocast asks for float16, a function that a CPU computes in it slowly, or not at all, gets
    single precision inside, and returns float16, as a GPU accumulates.
    """

    @functools.wraps(original)
    def on_the_cpu(*args: Any, **kwargs: Any) -> Any:
        wanted = torch.is_autocast_enabled("cpu")
        if not wanted or torch.get_autocast_dtype("cpu") is not torch.float16:
            return original(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            named = {name: _inside(value) for name, value in kwargs.items()}
            return _cast(original(*map(_inside, args), **named), torch.float16)

    return on_the_cpu


def _inside(given: Any) -> Any:
    """In single precision, by way of float16: so gradients overflow on their way back, as on a GPU."""
    return _cast(_cast(given, torch.float16), torch.float32)


def _cast(given: Any, to: torch.dtype) -> Any:
    """Tensors that autocast would cast, and those in a tuple or a list, in this precision."""
    if isinstance(given, tuple | list):
        return type(given)(_cast(one, to) for one in given)
    is_one = isinstance(given, torch.Tensor) and given.dtype in AUTOCAST
    return given.to(to) if is_one else given
