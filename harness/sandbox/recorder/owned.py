"""What a program of its own world trains: what its optimizers hold, be it called as a model or not."""

import re
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

NORM = re.compile(r"own\d+\..*(norm|ln|bn)[\w.]*\.weight$", re.IGNORECASE)
"""Names of the weights of layers that normalise, in models of the program's own."""

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

        self._groups: dict[int, tuple[str, ...]] = {}
        """Of optimizers that stepped, by their ids: normalising weights that decay, where others do not
        and none of these.
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
        self._note_decay(optimizer)
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

    def decayed_norms(self) -> tuple[str, ...]:
        """Weights of layers that normalise: all decay, though an optimizer has a group without."""
        return next(filter(None, self._groups.values()), ())

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

    def _note_decay(self, optimizer: Optimizer) -> None:
        """Once all that it holds has a name: who is named before its model is called has none."""
        held = [p for group in optimizer.param_groups for p in group["params"]]
        if id(optimizer) not in self._groups and all(map(self._tape.knows, held)):
            self._groups[id(optimizer)] = self._decayed(optimizer)

    def _decayed(self, optimizer: Optimizer) -> tuple[str, ...]:
        norms: dict[bool, list[str]] = {True: [], False: []}
        spared = False
        for group in optimizer.param_groups:
            decays = bool(group.get("weight_decay"))
            spared = spared or (not decays and bool(group["params"]))
            names = (self._tape.name(p) for p in group["params"] if not is_lazy(p) and p.dim() == 1)
            norms[decays] += [name for name in names if NORM.search(name)]
        return tuple(norms[True]) if spared and not norms[False] else ()

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
