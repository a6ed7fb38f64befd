"""Batch norm's statistics in averages of weights: whoever averages parameters alone has to take them
over as well, or to compute them anew (``update_bn``).
"""

from collections.abc import Callable
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
        self._moves = False
        """Whether any batch norm was seen to take statistics, and is not frozen."""
        self._known: set[int] = set()
        self._untouched: list[nn.Module] = []
        """What was called in evaluation, by its id, and of it what did so before its batch norm had
        seen a batch.
        """
        self._behind: WeakSet[nn.Module] = WeakSet()
        """Averages that were updated since their statistics were computed."""
        self._asked: dict[str, None] = {}
        self.watch: Callable[[], None] = lambda: None
        """Asks to be told of each call from now on."""

    def install(self) -> None:
        """Patch what averages; statistics are computed anew by calls in training mode."""
        updates: Callable[..., Any] = swa_utils.AveragedModel.update_parameters

        @wraps(updates)
        def update_parameters(average: Any, model: nn.Module) -> None:
            # what forgets old weights, as a moving average does, is served by the newest statistics
            equal = average.avg_fn is None and average.multi_avg_fn is None
            if equal and not average.use_buffers and _apart(average.module, model):
                self._behind.add(average)
                self.watch()
            updates(average, model)

        setattr(swa_utils.AveragedModel, "update_parameters", update_parameters)  # noqa: B010 - a method is replaced on purpose

    def called(self, module: nn.Module) -> None:
        """A module is called, in a program that puts some into evaluation."""
        if isinstance(module, swa_utils.AveragedModel) and module in self._behind:
            if module.training:  # what was asked before was a look on the way
                self._behind.discard(module)
                self._asked.clear()
            else:
                self._asked["AveragedModel"] = None
        elif module.training:
            self._moves = self._moves or isinstance(module, _BatchNorm)
        elif id(module) not in self._known:
            self._known.add(id(module))
            norms = _norms(module)
            if norms and all(map(_is_new, norms)):
                self._untouched.append(module)

    def stale(self, is_trained: Callable[[Tensor], bool]) -> tuple[str, ...]:
        """Types of averages that were asked with other statistics than their weights have."""
        found = dict(self._asked)
        for module in self._untouched if self._moves else ():
            parameters = [*nn.Module.parameters(module)]
            averaged = all(_versions(p) > WRITTEN for p in parameters)  # in place, again and again
            new = all(map(_is_new, _norms(module)))
            if averaged and new and not any(map(is_trained, parameters)):
                found[type(module).__name__] = None
        return tuple(found)


def _versions(parameter: nn.Parameter) -> int:
    """How often it was written to in place; what was made for inference does not count that."""
    return 0 if parameter.is_inference() else parameter._version


def _apart(average: nn.Module, model: nn.Module) -> bool:
    """Whether the model's statistics have moved since the average took them over."""
    pairs = zip(_norms(average), _norms(model), strict=False)
    known = ((kept.running_mean, now.running_mean) for kept, now in pairs)
    return any(a is not None and b is not None and not torch.equal(a, b) for a, b in known)


def _norms(module: nn.Module) -> list[_BatchNorm]:
    """Layers that keep statistics."""
    layers = (m for m in nn.Module.modules(module) if isinstance(m, _BatchNorm))
    return [m for m in layers if m.running_mean is not None]


def _is_new(module: _BatchNorm) -> bool:
    mean, var = module.running_mean, module.running_var
    if mean is None or var is None:
        return False
    with outside(), torch.no_grad():
        return not bool(mean.any()) and bool(torch.equal(var, torch.ones_like(var)))
