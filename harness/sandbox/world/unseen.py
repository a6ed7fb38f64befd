"""Calls of models that no probe may see: to ask what shape their outputs have."""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_internals


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Hide what runs inside from probes that watch all modules."""
    watching = (module_internals._global_forward_pre_hooks, module_internals._global_forward_hooks)
    kept = [dict(hooks) for hooks in watching]
    for hooks in watching:
        hooks.clear()
    try:
        yield
    finally:
        for hooks, was in zip(watching, kept, strict=True):
            hooks.update(was)


def shape_of(model: nn.Module, inputs: Tensor) -> tuple[int, ...] | None:
    """Shape of the model's output for these inputs, ``None`` if it has none. Changes no state."""
    training = {module: module.training for module in model.modules()}
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        with unseen(), torch.random.fork_rng(devices=[]), torch.no_grad():
            output = model.eval().forward(inputs.clone())
    finally:
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for module, mode in training.items():
            module.training = mode
    return None if output is None else tuple(getattr(output, "shape", ()))
