"""Which batch a free ``target`` belongs to, where a loop keeps several: the one in the model last.

Handed on before the loop, as an argument or an attribute, it stays one tensor: a loss that is given that
tensor gets the one of the batch in its place.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from harness.sandbox.batches.loaders import leaves
from harness.workloads import WorkloadBatch

Rebind = Callable[[WorkloadBatch], None]
"""Lets the names that change with every batch stand for this one."""


class Following:
    """Watches what enters the model; a batch that is not the one handed out last is published anew."""

    def __init__(self, model: nn.Module, batches: Sequence[WorkloadBatch], rebind: Rebind) -> None:
        """Nothing is watched before ``start``."""
        self._model = model
        self._batches = batches
        self._rebind = rebind
        self._current: WorkloadBatch | None = None
        self._started = False
        self._first: list[tuple[Any, str]] = []

    def start(self, first: Any, part: str) -> None:
        """Watch from here on. All modules, since a hook of the model's own would be copied with it.

        ``first``: what the name stands for before any batch was handed out.
        """
        self._first.append((first, part))
        if not self._started:
            self._started = True
            register_module_forward_pre_hook(cast("Callable[..., None]", self._look_at))

    def handed(self, batch: WorkloadBatch) -> None:
        """A loader yields this one."""
        self._current = batch

    def _look_at(self, module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if module is not self._model:
            return self._of_this_batch(given)
        if not given or not isinstance(given[0], Tensor):
            return None
        with torch.no_grad():
            if self._current is None or _is(self._current, given[0]):
                return None
            entered = next((b for b in self._batches if _is(b, given[0])), None)
        if entered is not None:
            self._current = entered
            self._rebind(entered)
        return None

    def _of_this_batch(self, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        stale = {id(value): part for value, part in self._first if isinstance(value, Tensor)}
        if self._current is None or not any(id(value) in stale for value in given):
            return None
        now = leaves(self._current)
        return tuple(now[stale[id(v)]] if id(v) in stale else v for v in given)


def _is(batch: WorkloadBatch, inputs: Tensor) -> bool:
    return batch.inputs.shape == inputs.shape and torch.equal(batch.inputs, inputs.detach().cpu())
