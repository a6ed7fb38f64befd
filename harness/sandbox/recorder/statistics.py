"""Batch norm's statistics in averages of weights: whoever averages parameters alone has to take them
over as well, or to compute them anew (``update_bn``).
"""

import gc
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import swa_utils

from harness.sandbox.recorder.transforms import outside

WRITTEN = 5
"""Parameters that were written to so often were not only made and loaded."""


class Statistics:
    """Looks at batch norm that is called in evaluation, and at torch's own averages."""

    def __init__(self) -> None:
        """Nothing was averaged yet."""
        self._untouched: WeakSet[nn.Module] = WeakSet()
        """Batch norm that was called in evaluation before it had seen a batch."""
        self._behind: WeakSet[nn.Module] = WeakSet()
        """Averages that were updated since their statistics were computed."""
        self._asked: dict[str, None] = {}
        self.watch: Callable[[], None] = lambda: None
        """Asks to be told of each call from now on."""

    def install(self) -> None:
        """Patch what averages, and what computes statistics anew."""
        updates: Callable[..., Any] = swa_utils.AveragedModel.update_parameters

        @wraps(updates)
        def update_parameters(average: Any, model: nn.Module) -> Any:
            if not average.use_buffers:
                self._behind.add(average)
                self.watch()
            return updates(average, model)

        setattr(swa_utils.AveragedModel, "update_parameters", update_parameters)  # noqa: B010 - a method is replaced on purpose

    def called(self, module: nn.Module) -> None:
        """A module is called, in a program that puts some into evaluation."""
        if isinstance(module, _BatchNorm):
            seen = module.num_batches_tracked
            if not module.training and isinstance(seen, Tensor) and not seen.any():
                self._untouched.add(module)
        elif isinstance(module, swa_utils.AveragedModel) and module in self._behind:
            if module.training:
                self._behind.discard(module)
            elif any(
                isinstance(m, _BatchNorm) and m.running_mean is not None for m in module.modules()
            ):
                self._asked["AveragedModel"] = None

    def stale(self, trained: Iterable[Tensor]) -> tuple[str, ...]:
        """Types of averages that were asked with other statistics than their weights have."""
        if not (self._untouched or self._asked):
            return ()
        held = {id(p) for p in trained}
        found = dict(self._asked)
        for module in [m for m in gc.get_objects() if issubclass(type(m), nn.Module)]:
            parts = [m for m in nn.Module.modules(module) if isinstance(m, _BatchNorm)]
            if parts and all(m in self._untouched and _is_new(m) for m in parts):
                parameters = [*nn.Module.parameters(module)]
                if _are_averaged(parameters) and held.isdisjoint(map(id, parameters)):
                    found[type(module).__name__] = None
        return tuple(found)


def _is_new(module: _BatchNorm) -> bool:
    mean, var = module.running_mean, module.running_var
    if mean is None or var is None:
        return False
    with outside(), torch.no_grad():
        return not bool(mean.any()) and bool(torch.equal(var, torch.ones_like(var)))


def _are_averaged(parameters: list[nn.Parameter]) -> bool:
    """Whether all were written to again and again, in place."""
    return all(p._version > WRITTEN for p in parameters)
