"""Mixed precision spelled for CUDA, run on a CPU with the same protocol.

A CUDA scaler on a CPU disables itself in silence, and every mistake in its protocol disappears with
it. A CPU scaler is the same class with the same checks. Constructors are patched in place, so that
classes stay the classes they were.
"""

import functools
from typing import Any

import torch
from torch.amp.autocast_mode import autocast

from harness.sandbox.machine.devices import ACCELERATORS, is_accelerator


def install() -> None:
    """Patch the two classes from which every scaler and every autocast inherits."""
    _scaler()
    _autocast()
    _lstm()


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
    def on_the_cpu(
        self: Any,
        device_type: Any = "cuda",  # posted code means torch.cuda.amp.autocast by a bare autocast()
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if isinstance(device_type, str) and device_type in ACCELERATORS:
            device_type = "cpu"
            if not args and kwargs.get("dtype") is None:
                kwargs["dtype"] = torch.float16
        original(self, device_type, *args, **kwargs)

    setattr(autocast, "__init__", on_the_cpu)  # noqa: B010 - mypy refuses to assign
    is_enabled = torch.is_autocast_enabled
    torch.is_autocast_enabled = lambda device="cpu": is_enabled(
        "cpu" if is_accelerator(device) else device
    )


def _lstm() -> None:
    """Where autocast asks for float16, of which a CPU has no LSTM, it is computed in full precision."""
    original = torch._VF.lstm

    @functools.wraps(original)
    def on_the_cpu(*args: Any) -> Any:
        if not torch.is_autocast_enabled("cpu"):
            return original(*args)
        if torch.get_autocast_dtype("cpu") is not torch.float16:
            return original(*args)
        with torch.autocast("cpu", enabled=False):
            return original(*map(_in_full, args))

    setattr(torch._VF, "lstm", on_the_cpu)  # noqa: B010 - mypy refuses to assign


def _in_full(given: Any) -> Any:
    """Tensors, and those in a tuple or a list, in single precision."""
    if isinstance(given, tuple | list):
        return type(given)(map(_in_full, given))
    is_half = isinstance(given, torch.Tensor) and given.dtype is torch.float16
    return given.float() if is_half else given
