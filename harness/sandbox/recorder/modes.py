"""Parts of a model that were put into evaluation and back into training before they were ever called:
``teacher.eval()`` once, and ``model.train()`` in each pass; what is frozen, also by its own ``train()``.
Frozen networks that nobody put into evaluation, whose outputs are targets with dropout.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from harness.sandbox.batches.callers import called_by_a_library
from harness.sandbox.recorder.transforms import outside

STANDS_FOR_ANY = "stands_for_any"
"""Attribute of a network that is lent: the reader's own may have layers of every kind."""

OFTEN = 3
"""So many losses were made of what a frozen network returned before its dropout is one's own fault."""

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
        self._noisy: WeakKeyDictionary[nn.Module, _Noisy] = WeakKeyDictionary()
        self.called: Callable[[nn.Module], None] = lambda _: None
        """Who else is told of each call."""

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
        freezes: Callable[..., Any] = nn.Module.requires_grad_

        def requires_grad_(module: nn.Module, requires_grad: bool = True) -> Any:  # noqa: FBT001, FBT002 - as above
            if not requires_grad:
                self.watch()
            return freezes(module, requires_grad)

        setattr(nn.Module, "requires_grad_", requires_grad_)  # noqa: B010 - as above

    def watch(self) -> None:
        """Look at each call from now on."""
        if not self._watches:
            self._watches = True
            register_module_forward_pre_hook(self._called)

    def before_backward(self) -> None:
        """A loss goes backward: what was called since the last one made its targets."""
        for noisy in self._noisy.values():
            noisy.losses += noisy.called
            noisy.called = False

    def noisy(self) -> tuple[str, ...]:
        """Types of networks that were frozen all the time, were called without gradients in training
        mode, for one loss after the other, and drop some of their activations.
        """
        told = (
            type(module).__name__
            for module, noisy in self._noisy.items()
            if noisy.losses >= OFTEN
            and 2 * noisy.losses > noisy.calls
            and noisy.state == _state(module)
        )
        return tuple(dict.fromkeys(told))

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
                self.watch()

    def _called(self, module: nn.Module, _: object) -> None:
        self._put.discard(module)
        self.called(module)
        if module.training and is_frozen(module) and drops(module):
            if module not in self._noisy:
                self._noisy[module] = _Noisy(_state(module))
            noisy = self._noisy[module]
            noisy.called = not torch.is_grad_enabled()
            noisy.calls += 1
        if module in self._undone and module.training and differs(module):
            trained = any(p.requires_grad for p in nn.Module.parameters(module))
            if isinstance(module, BY_BATCH) or not (trained and torch.is_grad_enabled()):
                self._seen[type(module).__name__] = None


@dataclass(slots=True)
class _Noisy:
    """A frozen network with dropout."""

    state: tuple[float, ...]
    """What its parameters added up to at the first call."""
    calls: int = 0
    losses: int = 0
    """How often a loss followed a call without gradients, before the next call."""
    called: bool = False


def _state(module: nn.Module) -> tuple[float, ...]:
    with outside():
        return tuple(float(p.detach().double().sum()) for p in nn.Module.parameters(module))


def drops(module: nn.Module) -> bool:
    """Whether some layer drops activations in training."""
    layers = nn.Module.modules(module)
    return any(isinstance(m, BY_CHANCE) and m.p > 0.0 and m.training for m in layers)


def is_frozen(module: nn.Module) -> bool:
    """Whether it has parameters and none of them is trained."""
    return {p.requires_grad for p in nn.Module.parameters(module)} == {False}


def differs(module: nn.Module) -> bool:
    """Whether some layer works differently in evaluation, or may do so in what it stands for."""
    return STANDS_FOR_ANY in vars(module) or any(
        isinstance(m, BY_BATCH) or (isinstance(m, BY_CHANCE) and m.p > 0.0)
        for m in nn.Module.modules(module)
    )
