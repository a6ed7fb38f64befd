"""Training that a program calls and does not show: ``train_one_epoch(model, loader, optimizer)``.

What it does is what everybody's does: clear, forward, loss, backward, step, for one batch or for a pass
over the data. What is judged is the program's part: what it gave to the optimizer, froze or restored.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from harness.sandbox.absent.inert import Inert
from harness.sandbox.batches.callers import ResultUse, frame_of_the_program
from harness.sandbox.batches.loaders import leaves
from harness.sandbox.names.table import words
from harness.sandbox.unbound import Unbound
from harness.sandbox.world.data import Data
from harness.sandbox.world.values import Values

OF_ONE_BATCH = frozenset({"step", "update", "batch", "iteration", "iter"})
"""Words of functions that train on one batch."""


class LendingTraining(Protocol):
    """What lends the objects that a call leaves out."""

    values: Values
    data: Data

    def of(self, role: str, name: str) -> Any:
        """The object for a role."""


class UnshownTraining:
    """One function that trains."""

    def __init__(self, name: str, lender: LendingTraining) -> None:
        """``name`` tells how much it trains on."""
        self._name, self._lender = name, lender

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Train with what is given, and with what is lent for the rest; the loss."""
        use = ResultUse(frame_of_the_program())
        given = [*args, *keywords.values()]
        model = _first(nn.Module, given) or self._lender.of("model", "model")
        optimizer = _first(torch.optim.Optimizer, given) or self._lender.of(
            "optimizer", "optimizer"
        )
        schedule = _first(torch.optim.lr_scheduler.LRScheduler, given)
        model.train()
        loss = torch.zeros(())
        for inputs, target in self._rows(given):
            optimizer.zero_grad()
            loss = self._loss(model(inputs), target)
            loss.backward()
            optimizer.step()
            if schedule is not None:
                schedule.step()
        others = [Inert() for _ in use.names[1:]]
        return (loss.item(), *others) if use.apart else loss.item()

    def _rows(self, given: list[Any]) -> Iterator[tuple[Tensor, Tensor]]:
        tensors = [g for g in given if isinstance(g, Tensor) and g.dim()]
        if len(tensors) > 1:
            yield tensors[0], tensors[1]
            return
        if OF_ONE_BATCH & {*words(self._name)}:
            self._lender.data.draw()
            yield self._current()
            return
        loader = next((g for g in given if _is_loader(g)), None) or self._lender.data.loader()
        for row in loader:
            own = [v for v in row if isinstance(v, Tensor)] if isinstance(row, tuple | list) else []
            yield (own[0], own[1]) if len(own) > 1 else self._current()

    def _current(self) -> tuple[Tensor, Tensor]:
        parts = leaves(self._lender.data.current)  # type: ignore[arg-type]  # a batch was drawn just now
        return parts["input"], parts["target"]

    def _loss(self, output: Any, target: Tensor) -> Tensor:
        """The loss that is lent; classes where that does not fit what the program brings."""
        try:
            return self._lender.values.criterion(output, target)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            if target.is_floating_point() or not isinstance(output, Tensor) or output.dim() < 2:
                raise Unbound(self._name, f"trains and is not shown ({error})") from error
            return nn.functional.cross_entropy(output, target)


def _first(kind: type[Any], given: list[Any]) -> Any:
    return next((g for g in given if isinstance(g, kind)), None)


def _is_loader(value: object) -> bool:
    plain = (str, bytes, dict, Tensor, nn.Module)
    return isinstance(value, Iterable) and not isinstance(value, plain)
