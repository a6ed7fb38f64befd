"""Ends a program of its own world when enough was seen: at the first backward after that."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from harness.domain.event import ENOUGH

UPDATES = 12
"""Updates that are enough, where as many passes over a loader have begun as count."""

PASSES = 3
"""Passes over a loader that have begun: two of them whole."""

MANY = 36
"""Updates that are enough without any pass: the program has no loader, or passes that never end."""

SECONDS = 5.0
"""After so many seconds a few updates are enough, if no other rank would wait."""

FEW = 3
"""So many."""

BACKWARDS = 120
"""Calls of backward that are enough where no optimizer steps."""

_clock = time.monotonic  # the program may put its own in its place


class Enough(SystemExit):
    """Raised in the program when it was seen for long enough."""


class Patience:
    """Counts the updates and the passes of one run."""

    def __init__(self, ranks: int) -> None:
        """``ranks``: how many train together; of several none may be ended by its own clock."""
        self._alone = ranks == 1
        self._began = _clock()
        self._passes: dict[int, int] = {}
        self._backwards = 0
        self.updates = 0

    def began(self, loader: object) -> None:
        """A pass over a loader begins."""
        self._passes[id(loader)] = self._passes.get(id(loader), 0) + 1

    @property
    def is_over(self) -> bool:
        """Whether enough was seen."""
        several = max(self._passes.values(), default=0) >= PASSES
        if self.updates >= (UPDATES if several else MANY):
            return True
        if self._backwards >= BACKWARDS * (1 + self.updates):
            return True
        late = self._alone and _clock() - self._began > SECONDS
        return late and self.updates >= FEW

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what runs inside, and end it in time."""
        hook = register_optimizer_step_post_hook(self._stepped)
        original, derive = torch.autograd.backward, torch.autograd.grad
        vars(torch.autograd).update(backward=self._before(original), grad=self._before(derive))
        self._began = _clock()
        try:
            yield
        finally:
            hook.remove()
            vars(torch.autograd).update(backward=original, grad=derive)

    def _stepped(self, *_: Any) -> None:
        self.updates += 1

    def _before(self, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._backwards += 1
            if self.is_over:
                raise Enough(f"{ENOUGH} after {self.updates} updates")
            return original(*args, **kwargs)

        call.__name__ = original.__name__
        return call
