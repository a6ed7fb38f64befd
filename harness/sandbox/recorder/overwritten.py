"""Rates that a schedule sets and that no update has: the program sets its own before each step."""

from typing import Any

from torch.optim import Optimizer, lr_scheduler

from harness.sandbox.recorder.rates import rates_of

ALIKE = 1e-6
"""Rates that differ by less, as a part of them, are one."""


class OverwrittenRates:
    """Follows what schedules set until the next step of the same optimizer."""

    def __init__(self) -> None:
        """No schedule set anything yet."""
        self._set: dict[int, tuple[float, ...]] = {}
        self._kept = self._undone = 0

    def after_schedule(self, optimizer: Any, before: tuple[float, ...]) -> None:
        """A schedule moved; ``before``: the rates that its optimizer had."""
        now = rates_of(optimizer) if optimizer is not None else ()
        if now and not _alike(before, now):
            self._set[id(optimizer)] = now

    def at_step(self, optimizer: Optimizer) -> None:
        """An optimizer is about to step."""
        wanted = self._set.pop(id(optimizer), None)
        if wanted is not None:
            kept = any(
                _alike((a,), (b,)) for a, b in zip(wanted, rates_of(optimizer), strict=False)
            )
            self._kept += kept
            self._undone += not kept

    def undone(self) -> int:
        """How often another rate was stepped with, where that was so each time."""
        return 0 if self._kept else self._undone


def at_a_plateau(scheduler: Any, metric: object) -> None:
    """Let a schedule by plateaus take what it is told for no better than before, once too often."""
    if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) and metric is not None:
        scheduler.best = float("-inf") if scheduler.mode == "min" else float("inf")
        scheduler.num_bad_epochs, scheduler.cooldown_counter = scheduler.patience, 0


def _alike(some: tuple[float, ...], others: tuple[float, ...]) -> bool:
    pairs = zip(some, others, strict=False)
    return all(abs(a - b) <= ALIKE * max(abs(a), abs(b)) for a, b in pairs)
