"""The loop around code that is written for one batch. A *turn* is one iteration of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from harness.sandbox.binding.objects.loaders import leaves
from harness.sandbox.binding.resolver import Resolver
from harness.sandbox.binding.roles.forms import Form, Part

MOMENT = frozenset({"input", "target", "mask", "count", "batch", "output", "loss", "step"})
"""Roles of values that belong to one batch."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What code for one batch needs from the loop around it."""

    names: dict[str, str]
    """Names to set in each turn, with their roles."""
    forms: dict[str, Form]
    """The form of each name that is a whole batch."""
    clears: bool
    """Whether the loop has to clear the gradients before each batch, because the code never does."""
    goes_back: bool
    """Whether the loop has to run forward and backward for each batch, because the code never does."""
    steps: bool
    """Whether the loop has to step the optimizer after each batch, because the code never does."""
    window: str | None = None
    """Name of the count of micro-batches in an update, where the code has one and the loop clears and
    steps: it does so once for as many batches."""


class Turns:
    """One pass over the data; each turn yields the values for one batch."""

    def __init__(self, resolver: Resolver, wanted: Wanted) -> None:
        """Nothing runs before it is iterated."""
        self._resolver = resolver
        self._wanted = wanted

    def __iter__(self) -> Iterator[dict[str, Any]]:
        resolver, wanted = self._resolver, self._wanted
        every, last = self._every(), len(resolver.values.batches) - 1
        for index, batch in enumerate(resolver.values.batches):
            resolver.on_batch(0, index, "train")
            resolver.publish(batch, index)
            if wanted.clears and index % every == 0:
                self._optimizer().zero_grad()
            moment = self._moment(index, leaves(batch))
            if wanted.goes_back:
                moment["loss"].backward()
            found = self._named(moment)
            vars(resolver.module).update(found)
            yield found
            if wanted.steps and (index % every == every - 1 or index == last):
                self._optimizer().step()

    def _every(self) -> int:
        """Batches of one update."""
        if self._wanted.window is None:
            return 1
        own = vars(self._resolver.module).get(self._wanted.window)
        count = own if isinstance(own, int) else self._resolver.values.number("accumulation")
        return max(1, int(count))

    def _moment(self, index: int, parts: Mapping[Part, Any]) -> dict[str, Any]:
        """Everything that belongs to one batch, as far as somebody wants it."""
        moment: dict[str, Any] = {str(part): value for part, value in parts.items()}
        moment["step"] = index
        wanted = {*self._wanted.names.values(), *(["loss"] if self._wanted.goes_back else [])}
        if wanted & {"output", "loss"}:
            moment["output"] = self._model()(parts["input"])
        if "loss" in wanted:
            moment["loss"] = self._resolver.values.criterion(moment["output"], parts["target"])
        return moment

    def _named(self, moment: dict[str, Any]) -> dict[str, Any]:
        forms, parts = self._wanted.forms, cast("Mapping[Part, Any]", moment)
        return {
            name: forms[name].build(parts) if role == "batch" else moment[role]
            for name, role in self._wanted.names.items()
        }

    def _model(self) -> nn.Module:
        """The model as the program has it by now: wrapped, if it wrapped it."""
        values = self._resolver.values
        made = [
            v
            for v in vars(self._resolver.module).values()
            if isinstance(v, DistributedDataParallel)
        ]
        return made[0] if made else values.the_model(wrap=self._resolver.wrap)

    def _optimizer(self) -> Optimizer:
        """The program's own optimizer, where it has made one."""
        made = [v for v in vars(self._resolver.module).values() if isinstance(v, Optimizer)]
        return made[0] if made else self._resolver.values.the_optimizer()


def note(wanted: Wanted) -> str:
    """What the loop supplies, in words."""
    supplied = (
        ("zero_grad before", wanted.clears),
        ("backward before", wanted.goes_back),
        ("step after", wanted.steps),
    )
    said = [what for what, is_wanted in supplied if is_wanted]
    each = "batch" if wanted.window is None else f"window of {wanted.window} batches"
    extra = f", with {' and '.join(said)} each {each}" if said else ""
    return f"written for one batch: run for every batch of the loader{extra}"
