"""What functions return that are not shown: the names tell that the result is given to.

``output, loss = self.forward_pass(batch)`` is the model's output and a loss. Such a loss is none that
torch knows: how gradients get to the optimizer is judged, and what the loss weighs is not.
"""

from typing import Any, Protocol

import torch
from torch import Tensor

from harness.sandbox.absent.inert import Inert
from harness.sandbox.batches.callers import ResultUse
from harness.sandbox.batches.loaders import leaves
from harness.sandbox.batches.rows import LentBatch
from harness.sandbox.names.table import Table, words
from harness.sandbox.unbound import Scouted
from harness.sandbox.world.data import Data
from harness.sandbox.world.values import Values

OF_A_BATCH = frozenset({"input", "target", "mask", "index", "count"})
COMPUTED = frozenset({"output", "loss"})
OF_A_REPORT = frozenset({"val", "valid", "vali", "validation", "eval", "test", "dev"})
"""Words of results that nobody trains on: ``val_loss = validate(model)``."""


class Lending(Protocol):
    """What lends objects."""

    values: Values
    data: Data
    table: Table

    @property
    def shows_updates(self) -> bool:
        """Whether the program itself clears, goes backward and steps."""

    def forward(self, inputs: Tensor) -> Any:
        """Outputs of the workload's model; ``None`` where the program trains another one."""

    def as_read(self, loss: Tensor, name: str) -> Any:
        """A loss in the form in which a name of it is read."""

    def made(self, name: str) -> Any:
        """The object that a name stands for; ``None`` where none can be made."""

    def result(self, name: str) -> Any:
        """What a scout found out, else a spy."""

    def note(self, name: str, said: str) -> None:
        """Take down what was lent."""


class UnshownResults:
    """The results of functions that one program does not show."""

    def __init__(self, lender: Lending) -> None:
        """Objects come from ``lender``."""
        self._lender = lender
        self._table = lender.table

    def of(self, name: str) -> Any:
        """What a scout found out, or a spy."""
        return self._lender.result(name)

    def part(self, use: ResultUse) -> str | None:
        """The part of a batch that the one name means to which a result is given."""
        return self._table.part(use.names[0]) if len(use.names) == 1 else None

    def by_names(self, name: str, use: ResultUse, given: list[Any]) -> Any:
        """The result of a call, by the names that it is given to; ``None`` where these do not tell."""
        parts = [self._table.part(n) for n in use.names]
        if len(use.names) > 1 and not use.apart:
            return None
        found = [self._one(n, given, name) for n in use.names]
        if all(f is None for f in found):
            return None
        if use.apart and set(parts) <= OF_A_BATCH and not self._lender.data.handed:
            raise Scouted(name, "source")
        self._lender.note(name, f"not shown, returns {', '.join(use.names)}")
        return tuple(Inert() if f is None else f for f in found) if use.apart else found[0]

    def _one(self, name: str, given: list[Any], function: str) -> Any:
        part = self._table.part(name)
        if OF_A_REPORT & {*words(name)}:
            return Inert()
        if part in COMPUTED:
            return self._computed(part, name, given)
        if part == "batch":
            return next((g for g in given if isinstance(g, LentBatch)), None)
        if part in OF_A_BATCH and self._lender.data.current is not None:
            return leaves(self._lender.data.current)[part]
        return None if part is not None else self._lender.made(name)

    def _computed(self, part: str, name: str, given: list[Any]) -> Any:
        """What a model makes of the current batch; nothing where the function may update as well."""
        batch = self._lender.data.current
        if batch is None or not self._lender.shows_updates:
            return None
        done = (g for g in given if isinstance(g, Tensor) and g.grad_fn is not None and g.dim())
        output = next(done, None)
        if output is None:
            output = self._lender.forward(batch.inputs.clone())
        if part == "output" or output is None:
            return output
        each = self._lender.values.criterion_of_each(output, batch.target)
        return self._lender.as_read(torch.log1p(each).mean(), name)
