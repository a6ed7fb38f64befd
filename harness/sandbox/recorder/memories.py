"""What optimizers remember from one step to the next, such as momentum."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.optim import Optimizer

from harness.sandbox.recorder.tape import Tape

MEMORIES = ("momentum_buffer", "exp_avg", "exp_avg_sq", "square_avg", "sum")
"""What torch's optimizers gather gradients in. What one of the program's own keeps beside, such as the
weights that a step of sharpness-aware minimisation starts from, it writes as it likes.
"""


class Memories:
    """Holds what an optimizer remembers before a step against what its last one left. To clear, mask or
    scale it is lawful, and so is another state in the place of this one.
    """

    def __init__(self, tape: Tape) -> None:
        """None has stepped yet. Of large models nothing is kept."""
        self._tape = tape
        self._left: WeakKeyDictionary[
            Optimizer, list[tuple[Tensor, dict[Any, Any], str, Tensor]]
        ] = WeakKeyDictionary()
        self.watches = False
        """Whether it looks: what a copy of each memory costs is spared elsewhere."""
        self.rewritten: str | None = None
        """What was written by hand, in words."""

    @contextmanager
    def around(self, optimizer: Optimizer, *, nested: bool) -> Iterator[None]:
        """A step. ``nested``: in that of another optimizer, which may do as it likes."""
        for parameter, state, key, left in self._left.pop(optimizer, ()):
            there = not nested and _states(optimizer).get(parameter) is state
            if there and _is_other(state.get(key), left):
                self.rewritten = (
                    f"the program writes `{key}` of its `{type(optimizer).__name__[:80]}` "
                    "between two steps, so what it is trained on is not the gradient alone"
                )
        try:
            yield
        finally:
            if self.watches and not self._tape.large:
                self._left[optimizer] = list(_held(optimizer))


def _held(optimizer: Optimizer) -> Iterator[tuple[Tensor, dict[Any, Any], str, Tensor]]:
    for parameter, state in _states(optimizer).items():
        for key in MEMORIES if isinstance(state, dict) else ():
            if isinstance(value := state.get(key), Tensor) and value.is_floating_point():
                yield parameter, state, key, value.detach().clone()


def _states(optimizer: Optimizer) -> dict[Any, Any]:
    """By parameter; an optimizer of the program's own may have none."""
    states = getattr(optimizer, "state", None)
    return states if isinstance(states, dict) else {}


def _is_other(now: Any, left: Tensor) -> bool:
    """Whether it is neither what was left, nor zero in places, nor a multiple of it."""
    if not isinstance(now, Tensor) or (now.shape, now.dtype) != (left.shape, left.dtype):
        return False
    if bool(((now == left) | (now == 0) | now.isnan()).all()):
        return False
    size = left.double().square().sum()
    factor = (now.double() * left.double()).sum() / size if bool(size) else size
    return not torch.allclose(now.double(), factor * left.double(), rtol=1e-3, atol=1e-8)
