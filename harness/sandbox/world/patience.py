"""Ends training that goes on far longer than a probe needs, between two updates."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook

from harness.domain.event import ENOUGH
from harness.sandbox.batches.loaders import OnBatch

BATCHES = 1000
"""Number of batches, over all ranks, that is enough on workloads of the usual size."""

TIMES = 4
"""The least number of batches, as a multiple of what the probe wants."""

SECONDS = 7.0
"""After so many seconds the least number of batches is enough, if no other rank would wait. A
little later the program would be killed.
"""

_clock = time.monotonic  # the program may put its own in its place


class Enough(SystemExit):
    """Raised when the program has trained for long enough to be judged."""


class Patience:
    """Counts the batches and the updates of one run."""

    def __init__(self, wanted: int, ranks: int) -> None:
        """``wanted``: how many batches the probe wants."""
        self._least = TIMES * wanted
        self._most = BATCHES // ranks
        self._alone = ranks == 1
        self._handed = self._updates = 0
        self._updated = False
        self._began = _clock()

    @property
    def updates(self) -> int:
        """Updates so far."""
        return self._updates

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what runs inside."""
        hook = register_optimizer_step_post_hook(self._stepped)
        self._began = _clock()
        try:
            yield
        finally:
            hook.remove()

    def before(self, on_batch: OnBatch) -> OnBatch:
        """``on_batch`` that first raises ``Enough``, if it is enough."""

        def told(epoch: int, index: int, loader: str) -> None:
            if self._updated and self._is_long():
                raise Enough(f"{ENOUGH} after {self._updates} updates")
            self._handed += 1
            self._updated = False
            on_batch(epoch, index, loader)

        return told

    def _is_long(self) -> bool:
        if self._handed < self._least:
            return False
        return self._handed >= self._most or (self._alone and _clock() - self._began > SECONDS)

    def _stepped(self, *_: Any) -> None:
        self._updated = True
        self._updates += 1
