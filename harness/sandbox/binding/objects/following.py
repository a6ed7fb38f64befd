"""Which batch a free ``target`` belongs to, where a loop keeps several: the one in the model last."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from harness.workloads import Batch

Rebind = Callable[[Batch], None]
"""Lets the names that change with every batch stand for this one."""


class Following:
    """Watches what enters the model; a batch that is not the one handed out last is published anew."""

    def __init__(self, model: nn.Module, batches: Sequence[Batch], rebind: Rebind) -> None:
        """Nothing is watched before ``start``."""
        self._model = model
        self._batches = batches
        self._rebind = rebind
        self._current: Batch | None = None
        self._started = False

    def start(self) -> None:
        """Watch from here on. All modules, since a hook of the model's own would be copied with it."""
        if not self._started:
            self._started = True
            register_module_forward_pre_hook(self._look_at)

    def handed(self, batch: Batch) -> None:
        """A loader yields this one."""
        self._current = batch

    def _look_at(self, module: nn.Module, given: tuple[Any, ...]) -> None:
        if module is not self._model or not given or not isinstance(given[0], Tensor):
            return
        with torch.no_grad():
            if self._current is None or _is(self._current, given[0]):
                return
            entered = next((b for b in self._batches if _is(b, given[0])), None)
        if entered is not None:
            self._current = entered
            self._rebind(entered)


def _is(batch: Batch, inputs: Tensor) -> bool:
    return batch.inputs.shape == inputs.shape and torch.equal(batch.inputs, inputs.detach().cpu())
