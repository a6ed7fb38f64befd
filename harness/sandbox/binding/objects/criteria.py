"""A free criterion whose result the program takes apart: as a mapping, a tuple, or with attributes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.objects import models
from harness.sandbox.binding.objects.values import Values
from harness.sandbox.binding.roles.results import OUTPUT, SPLIT, Paths, Result
from harness.sandbox.binding.unbound import Unbound

IGNORED = -100
"""The label that torch's classification losses leave out by default."""


class Apart(nn.Module):
    """The workload's loss in the form in which a program reads it."""

    def __init__(self, loss: Callable[..., Tensor], result: Result, read: dict[str, Node]) -> None:
        """``read``: attributes that a program reads of it: weights of the losses, by their names."""
        super().__init__()
        self._loss = loss
        self._result = result
        names = [name for name, kind in result.fields if kind == "loss"] or ["loss"]
        for name, part in read.items():
            if not hasattr(self, name) and not part.calls:
                setattr(self, name, dict.fromkeys(names, 1.0))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the result is, with the loss in it."""
        loss = self._loss(*(_stacked(value) for value in args), **kwargs)
        return models.given(self._result, loss.detach(), loss)


def _stacked(value: Any) -> Any:
    """Targets that come sample by sample, as one tensor."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return torch.stack([next(iter(one.values())) for one in value])
    return value


def _settled(criterion: Callable[..., Tensor], node: Node) -> Callable[..., Tensor]:
    """With the settings that a program reads of its own: ``criterion.ignore_index``."""
    for name in node.attributes():
        if hints.suggests(name, "ignore_index") and not hasattr(criterion, name):
            setattr(criterion, name, IGNORED)
    return criterion


def _place_of_inputs(call: Call) -> int | None:
    """Where a loss is given what the model was given: ``criterion(x, model(x), y)``."""
    places = [i for i, a in enumerate(call.args) if "model_arg" in a.uses and "data" in a.tags]
    return places[0] if len(call.args) == 3 and len(places) == 1 else None


def _without(place: int, loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The loss without the inputs, which ours does not look at."""

    def called(*args: Any, **kwargs: Any) -> Tensor:
        return loss(*args[:place], *args[place + 1 :], **kwargs)

    return called


def fitted(name: str, node: Node, paths: Paths, values: Values) -> Callable[..., Any]:
    """The workload's loss, in the form in which the program reads its result."""
    results = [paths.result(call) for call in node.calls if not call.inner]
    loss = _settled(values.criterion, node)
    if any(len(call.args) > 2 and _place_of_inputs(call) is not None for call in node.calls):
        loss = _without(next(p for c in node.calls if (p := _place_of_inputs(c)) is not None), loss)
    wanted = next((r for r in results if r.whole != "loss" and r.has_loss), OUTPUT)
    if wanted.split:
        raise Unbound(name, SPLIT)
    if wanted is OUTPUT or any(result.whole == "loss" for result in results):
        return loss
    return Apart(loss, wanted, node.attributes())
