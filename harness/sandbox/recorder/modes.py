"""Parts of a model that were put into evaluation and back into training before they were ever called:
``teacher.eval()`` once, and ``model.train()`` in each pass; what is frozen, also by its own ``train()``.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from harness.sandbox.batches.callers import called_by_a_library

STANDS_FOR_ANY = "stands_for_any"
"""Attribute of a network that is lent: the reader's own may have layers of every kind."""

BY_BATCH = nn.modules.batchnorm._BatchNorm
BY_CHANCE = nn.modules.dropout._DropoutNd


class Modes:
    """Wraps ``train`` of modules, which ``eval`` calls too."""

    def __init__(self) -> None:
        """Nothing was put into evaluation yet."""
        self._put: WeakSet[nn.Module] = WeakSet()
        self._undone: WeakSet[nn.Module] = WeakSet()
        self._depth = 0
        self._watches = False
        self._seen: dict[str, None] = {}

    def install(self) -> None:
        """Patch the class; where the program puts nothing into evaluation, no call is looked at."""
        original: Callable[..., Any] = nn.Module.train

        def train(module: nn.Module, mode: bool = True) -> Any:  # noqa: FBT001, FBT002 - torch's own signature
            self._switched(module, mode=mode)
            self._depth += 1
            try:
                return original(module, mode)
            finally:
                self._depth -= 1

        setattr(nn.Module, "train", train)  # noqa: B010 - a method is replaced on purpose

    def undone(self) -> tuple[str, ...]:
        """Types of such parts that were called in training mode although nothing trains them."""
        return tuple(self._seen)

    def _switched(self, module: nn.Module, *, mode: bool) -> None:
        if self._depth and mode and module in self._put:
            self._put.discard(module)
            self._undone.add(module)
        elif not self._depth:
            taken_back = mode and module in self._put and is_frozen(module)
            (self._undone.add if taken_back else self._undone.discard)(module)
            self._put.discard(module)
            if not mode and not called_by_a_library():
                self._put.add(module)
                self._watch()

    def _watch(self) -> None:
        if not self._watches:
            self._watches = True
            register_module_forward_pre_hook(self._called)

    def _called(self, module: nn.Module, _: object) -> None:
        self._put.discard(module)
        if module in self._undone and module.training and differs(module):
            trained = any(p.requires_grad for p in nn.Module.parameters(module))
            if isinstance(module, BY_BATCH) or not (trained and torch.is_grad_enabled()):
                self._seen[type(module).__name__] = None


def is_frozen(module: nn.Module) -> bool:
    """Whether it has parameters and none of them is trained."""
    return {p.requires_grad for p in nn.Module.parameters(module)} == {False}


def differs(module: nn.Module) -> bool:
    """Whether some layer works differently in evaluation, or may do so in what it stands for."""
    return STANDS_FOR_ANY in vars(module) or any(
        isinstance(m, BY_BATCH) or (isinstance(m, BY_CHANCE) and m.p > 0.0)
        for m in nn.Module.modules(module)
    )
