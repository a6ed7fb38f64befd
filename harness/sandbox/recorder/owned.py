"""What a program of its own world trains: what its optimizers hold, be it called as a model or not."""

from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from harness.sandbox.recorder.rates import rates_of
from harness.sandbox.recorder.tape import Tape

APART = 2.0
"""Rates of groups of which one is so many times another are not the same by accident."""

SCALES = ("lr_scale", "lr_mult")
"""Keys under which programs keep by what a group's rate is to be multiplied."""

OFTEN = 3
"""So many steps with one rate for all."""


@dataclass(slots=True)
class _Rates:
    """The lowest and the highest rate with which an optimizer's groups were made."""

    lowest: float
    highest: float
    steps: int = 0


class OwnOptimizers:
    """Knows every optimizer that the program makes."""

    def __init__(self, tape: Tape) -> None:
        """None is made yet."""
        self._tape = tape
        self._optimizers: WeakSet[Optimizer] = WeakSet()
        self._apart: dict[int, _Rates] = {}
        """Of optimizers whose groups have had one rate in each step, by their ids: they may be gone when
        the program is over.
        """

    def install(self) -> None:
        """Patch the class from which all of them inherit."""
        original = Optimizer.__init__
        owned = self

        def made(self: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            owned._optimizers.add(self)
            owned._note_rates(self)
            known = (p for p in owned.parameters() if not is_lazy(p))
            owned._tape.expect(sum(p.numel() for p in known))

        setattr(Optimizer, "__init__", made)  # noqa: B010 - mypy refuses to assign to a method

    def at_step(self, optimizer: Optimizer) -> None:
        """An optimizer is about to step."""
        rates = self._apart.get(id(optimizer))
        if rates is not None:
            rates.steps += 1
            if len({*rates_of(optimizer)}) > 1:
                del self._apart[id(optimizer)]

    def made_equal(self) -> tuple[float, ...]:
        """The lowest and the highest rate with which an optimizer was made whose groups always stepped
        with one.
        """
        found = ((r.lowest, r.highest) for r in self._apart.values() if r.steps >= OFTEN)
        return next(found, ())

    def met(self) -> None:
        """Name what got a gradient and came with no model that was called: its forward was called by
        another way, or it is no part of a model.
        """
        for parameter in self.parameters():
            if parameter.grad is not None:
                self._tape.name(parameter)

    def optimizers(self) -> list[Optimizer]:
        """Those that the program has now."""
        return list(self._optimizers)

    def parameters(self) -> list[Any]:
        """All that they hold."""
        groups = (group for optimizer in self._optimizers for group in optimizer.param_groups)
        return [p for group in groups for p in group["params"]]

    def _note_rates(self, optimizer: Optimizer) -> None:
        rates = rates_of(optimizer)
        if len({*rates}) == 1:
            scales = [
                next((g[key] for key in SCALES if key in g), 1.0) for g in optimizer.param_groups
            ]
            rates = tuple(
                r * s for r, s in zip(rates, scales, strict=False) if isinstance(s, float)
            )
        self._apart.pop(id(optimizer), None)
        if rates and max(rates) >= APART * min(rates) > 0.0:
            self._apart[id(optimizer)] = _Rates(min(rates), max(rates))
