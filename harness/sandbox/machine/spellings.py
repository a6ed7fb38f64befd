"""Process-wide patches under which a program written for CUDA means the same on a CPU."""

import importlib
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils import data
from torch.utils.data import DataLoader

from harness.sandbox import absent
from harness.sandbox.absent.files import saving
from harness.sandbox.absent.inert import SilentProfile
from harness.sandbox.batches import loaders
from harness.sandbox.machine import amp, arguments, cuda, devices, distributed

_done = False
_LOADERS_OWN = DataLoader.__init__


def install_spellings() -> None:
    """Patch torch once; a second call does nothing."""
    global _done  # noqa: PLW0603 - patching a process twice would nest the patches
    if _done:
        return
    _done = True
    # Dynamo builds a table of torch's functions on import, which patched ones would break.
    importlib.import_module("torch._dynamo")
    devices.install()
    cuda.install()
    amp.install()
    distributed.install()
    arguments.install()
    _compile()
    _dataloader()
    _splits()
    torch.save = saving(torch.save)
    setattr(torch.profiler, "profile", SilentProfile)  # noqa: B010 - mypy refuses to assign
    setattr(time, "sleep", _awake(time.sleep))  # noqa: B010 - mypy refuses a narrower signature
    logging.raiseExceptions = False


def plain_loader() -> None:
    """Loaders as torch makes them, where nothing of theirs is replaced."""
    setattr(DataLoader, "__new__", staticmethod(lambda cls, *_, **__: object.__new__(cls)))  # noqa: B010 - mypy refuses to assign
    setattr(DataLoader, "__init__", _LOADERS_OWN)  # noqa: B010 - mypy refuses to assign


def _awake(original: Callable[[float], None]) -> Callable[[float], None]:
    """A program's pauses cost nothing; the harness's own are meant."""

    def sleep(seconds: float) -> None:
        if str(sys._getframe(1).f_globals.get("__name__")).startswith("harness."):
            original(seconds)

    return sleep


def _compile() -> None:
    """Compiling changes speed, not meaning, and needs a compiler that the jail does not have."""

    def compile_(model: Any = None, *_: Any, **__: Any) -> Any:
        return model if model is not None else (lambda function: function)

    torch.compile = compile_
    setattr(nn.Module, "compile", lambda self, *_, **__: None)  # noqa: B010 - mypy refuses otherwise


def _splits() -> None:
    """Every part of the workload's data is the whole: how much of it there is, is part of a probe."""
    original: Callable[..., list[Any]] = data.random_split

    def random_split(dataset: Any, lengths: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if isinstance(dataset, loaders.Samples) or loaders.behind(dataset) is not None:
            return [dataset] * len(lengths)
        if _is_stood_in(dataset) and sum(lengths) != len(dataset):
            lengths = [length / sum(lengths) for length in lengths]  # how many there are is ours
        return original(dataset, lengths, *args, **kwargs)

    for module in (data, data.dataset):
        setattr(module, "random_split", random_split)  # noqa: B010 - mypy refuses to assign


def _is_stood_in(dataset: Any) -> bool:
    """Whether it is data of ours in the place of a known set."""
    return any(kind.__module__.startswith(f"{absent.__name__}.") for kind in type(dataset).__mro__)


def _dataloader() -> None:
    """No worker processes, no pinned memory; over the workload's dataset, the workload's batches."""
    original: Callable[..., None] = DataLoader.__init__

    def new(cls: type[Any], dataset: Any = None, *_: Any, **kwargs: Any) -> Any:
        if kwargs.get("sampler") is not None and kwargs.get("shuffle"):
            raise ValueError("sampler option is mutually exclusive with shuffle")  # as torch does
        if cls is DataLoader and isinstance(dataset, loaders.Samples):
            found = dataset.loader(kwargs.get("collate_fn"))
            found.shuffles = kwargs.get("sampler")
            return found
        samples = loaders.behind(dataset) if cls is DataLoader else None
        if samples is not None:
            return samples.loader_around(dataset, kwargs.get("collate_fn"))
        return object.__new__(cls)

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in ("pin_memory", "persistent_workers", "prefetch_factor", "timeout",
                     "multiprocessing_context", "pin_memory_device", "worker_init_fn"):  # fmt: skip
            kwargs.pop(name, None)
        kwargs["num_workers"] = 0
        original(self, *args, **kwargs)

    setattr(DataLoader, "__new__", staticmethod(new))  # noqa: B010 - mypy refuses to assign
    setattr(DataLoader, "__init__", initialise)  # noqa: B010 - mypy refuses to assign
