"""CUDA device names on a CPU: every way to move or create a tensor on a device stays where it is."""

import ast
import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.jit import _builtins

from harness.syntax import dotted, walk

CPU = torch.device("cpu")

ACCELERATORS = frozenset({"cuda", "mps", "xpu", "hip"})

FACTORIES = (
    "arange", "as_tensor", "asarray", "empty", "empty_like", "empty_strided", "eye", "full",
    "full_like", "hann_window", "linspace", "logspace", "normal", "ones", "ones_like", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "scalar_tensor",
    "tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
)  # fmt: skip

NEW = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")


def is_accelerator(device: object) -> bool:
    """Whether a device argument names something other than the CPU: ``"cuda:0"``, ``0``, a device."""
    if isinstance(device, bool):
        return False
    if isinstance(device, str):
        return device.partition(":")[0] in ACCELERATORS
    if isinstance(device, torch.device):
        return device.type in ACCELERATORS
    return isinstance(device, int)


def device(*args: Any, **kwargs: Any) -> torch.device:
    """``torch.device``, also for a bare index, which torch refuses without an accelerator."""
    first = args[0] if args else kwargs.get("device", kwargs.get("type"))
    if isinstance(first, int):
        return torch.device("cuda", first)
    return torch.device(*args, **kwargs)


def device_context(*args: Any, **kwargs: Any) -> torch.device:
    """``torch.device`` as a context manager: tensors made inside stay on the CPU."""
    found = device(*args, **kwargs)
    return CPU if is_accelerator(found) else found


def generator(*_: Any, **__: Any) -> torch.Generator:
    """``torch.Generator`` of any device."""
    return torch.Generator()


LENT = {"__device__": device, "__device_context__": device_context, "__generator__": generator}
"""Names that calls of devices are rewritten to."""


def map_calls(tree: ast.AST, *, bare: bool) -> None:
    """Have ``torch.device(0)`` and generators of a device call what takes devices that are not here.

    ``bare``: also where they are called without ``torch``, and by no class of the program's own.
    """
    nodes = walk(tree)
    contexts = {id(i.context_expr) for n in nodes if isinstance(n, ast.With) for i in n.items}
    own = {n.name for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        path = dotted(node.func) or ""
        kind = path.rpartition(".")[2]
        if kind not in ("device", "Generator") or path not in (kind, f"torch.{kind}"):
            continue
        if path == kind and (not bare or kind in own):
            continue
        kind = "device_context" if kind == "device" and id(node) in contexts else kind.lower()
        node.func = ast.copy_location(ast.Name(f"__{kind}__", ast.Load()), node.func)


def install() -> None:
    """Patch tensors, modules and factories."""
    for name in FACTORIES:
        setattr(torch, name, without_device(getattr(torch, name)))
    for name in NEW:
        setattr(torch.Tensor, name, without_device(getattr(torch.Tensor, name)))
    for cls in (torch.Tensor, nn.Module):
        for name in ("to", "to_empty"):
            if hasattr(cls, name):
                setattr(cls, name, _moving(getattr(cls, name)))
        for name in ("cuda", "xpu"):
            setattr(cls, name, _stay)
    lazy = vars(nn.parameter)["UninitializedTensorMixin"]
    lazy._allowed_methods.append(torch.Tensor.to)  # looked up by identity
    setattr(torch.Tensor, "pin_memory", _stay)  # noqa: B010 - mypy refuses to assign to a method
    setattr(torch.Tensor, "record_stream", nothing)  # noqa: B010 - as above
    torch.load = _loading(torch.load)
    torch.set_default_device = nothing
    _accelerator()


def without_device(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original`` that ignores an accelerator and pinned memory."""

    @functools.wraps(original)
    def made(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs.pop("pin_memory", None)
            if "device" in kwargs and is_accelerator(kwargs["device"]):
                kwargs["device"] = CPU
        return original(*args, **kwargs)

    # torch compiles a few of its own modules on import, and looks functions up by identity
    operation = _builtins._find_builtin(original)
    if operation is not None:
        _builtins._register_builtin(made, operation)
    return made


def _moving(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and is_accelerator(args[0]):
            args = (CPU, *args[1:])
        if "device" in kwargs and is_accelerator(kwargs["device"]):
            kwargs["device"] = CPU
        return original(self, *args, **kwargs)

    return to


def _loading(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return original(f, CPU if is_accelerator(map_location) else map_location, *args, **kwargs)

    return load


def _accelerator() -> None:
    if not hasattr(torch, "accelerator"):
        return
    told: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "current_accelerator": lambda *_, **__: torch.device("cuda"),
        "device_count": lambda: int(torch.cuda.device_count()),
    }
    for name, answer in told.items():
        setattr(torch.accelerator, name, for_candidates(answer, getattr(torch.accelerator, name)))
    torch.accelerator.synchronize = torch.accelerator.set_device_index = nothing


def for_candidates(told: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    """A function that tells ``told`` to programs, and ``real`` to torch and Lightning themselves."""
    getframe = sys._getframe

    @functools.wraps(real)
    def answer(*args: Any, **kwargs: Any) -> Any:
        asker = getframe(1).f_globals.get("__name__", "")
        if asker.partition(".")[0] in INTERNAL:
            return real(*args, **kwargs)
        return told(*args, **kwargs)

    return answer


INTERNAL = frozenset({
    "torch", "lightning", "pytorch_lightning", "lightning_fabric", "torchmetrics", "accelerate",
    "transformers",
})  # fmt: skip


def _stay(self: Any, *_: Any, **__: Any) -> Any:
    return self


def nothing(*_: Any, **__: Any) -> None:
    """Stands for what has nothing to do on a CPU."""
