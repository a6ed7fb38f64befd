"""Classification losses on workloads whose targets are numbers: the workload's own loss replaces them.

A program that brings ``CrossEntropyLoss`` was written for other data. On numbers that loss is none to
train on, and its gradient says nothing about how the loop adds up what it is given.
"""

import functools
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.sandbox.binding import rewrite
from harness.sandbox.binding.flow.graph import Call
from harness.sandbox.binding.objects.values import Values
from harness.sandbox.binding.resolver import Resolver

MADE, CALLED, SAME = "__loss_of_classes__", "__cross_entropy__", "__same__"
FLAT = "__of_flat_labels_{}__"
OF_CLASSES = {
    "torch.nn.CrossEntropyLoss": MADE,
    "torch.nn.functional.cross_entropy": CALLED,
    "torch.nn.modules.loss.CrossEntropyLoss": MADE,
    "torch.nn.NLLLoss": MADE,
    "torch.nn.functional.nll_loss": CALLED,
}
OF_SCORES: dict[str, Callable[..., Any]] = {
    "torch.nn.BCELoss": nn.BCELoss,
    "torch.nn.BCEWithLogitsLoss": nn.BCEWithLogitsLoss,
    "torch.nn.MSELoss": nn.MSELoss,
    "torch.nn.functional.binary_cross_entropy": functional.binary_cross_entropy,
    "torch.nn.functional.binary_cross_entropy_with_logits": functional.binary_cross_entropy_with_logits,
    "torch.nn.functional.mse_loss": functional.mse_loss,
}
"""Losses on a discriminator's scores; programs may expect these with one dimension less than ours."""
NOTE = "cross-entropy: the targets here are numbers, so the workload's own loss is used"


class WorkloadLoss(nn.Module):
    """The workload's loss with torch's three reductions."""

    def __init__(self, values: Values, reduction: str = "mean") -> None:
        """``reduction``: ``mean``, ``sum`` or ``none``."""
        super().__init__()
        self._values = values
        self._reduction = reduction

    def forward(self, output: Tensor, target: Tensor, *_: Any, **__: Any) -> Tensor:
        """(n, ...), (n, ...) -> (), or (n,) without reduction."""
        target = target.reshape(output.shape) if target.numel() == output.numel() else target
        if self._reduction == "mean":
            return self._values.criterion(output, target)
        losses = self._values.criterion_of_each(output, target)
        return losses.sum() if self._reduction == "sum" else losses


def take_place(
    calls: Iterable[tuple[str, Call]],
    resolver: Resolver,
    changes: rewrite.Changes,
    module: ModuleType,
) -> None:
    """Put the workload's loss in place of classification losses on numbers. On scores of a
    discriminator, accept labels with one dimension less.
    """
    if resolver.values.parts:
        _flat_labels(calls, changes, module)
        return
    found = _of_classes(calls, resolver.values)
    if resolver.values.batches[0].target.is_floating_point():
        changes.compares = SAME
        vars(module)[SAME] = _comparable
    if found:
        changes.renamed |= found
        changes.compares = SAME
        vars(module).update(_named(resolver.values))
        resolver.notes.append(NOTE)


def _flat_labels(
    calls: Iterable[tuple[str, Call]], changes: rewrite.Changes, module: ModuleType
) -> None:
    """Scores that the program's own network would give as (n,) are (n, 1) here."""
    for path, call in calls:
        if path in OF_SCORES and call.where is not None and not call.inner:
            last = path.rpartition(".")[2]
            changes.renamed[id(call.where)] = FLAT.format(last)
            vars(module)[FLAT.format(last)] = (_making if last[0].isupper() else _flat)(
                OF_SCORES[path]
            )


def _making(loss: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    def made(*args: Any, **keywords: Any) -> nn.Module:
        found = loss(*args, **keywords)
        found.forward = _flat(found.forward)
        return found

    return made


def _flat(loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(loss)
    def compared(*args: Any, **keywords: Any) -> Tensor:
        given = dict(zip(("input", "target"), args, strict=False)) | keywords
        output, target = given["input"], given["target"]
        if output.ndim == 2 and output.shape[1] == 1 and target.shape == output.shape[:1]:
            given["target"] = target.unsqueeze(1)
        return loss(given.pop("input"), given.pop("target"), *args[2:], **given)

    return compared


def _of_classes(calls: Iterable[tuple[str, Call]], values: Values) -> dict[int, str]:
    """Calls to rename, by identity; none where the workload's targets are classes."""
    numbers = values.batches[0].target.is_floating_point()
    if not numbers or values.parts or values.workload.extra_names():
        return {}
    return {
        id(call.where): OF_CLASSES[path]
        for path, call in calls
        if path in OF_CLASSES and call.where is not None and not call.inner
    }


def _named(values: Values) -> dict[str, Any]:
    """What the renamed calls call."""

    def made(*_: Any, reduction: str = "mean", **__: Any) -> nn.Module:
        return WorkloadLoss(values, reduction)

    def called(output: Any = None, target: Any = None, *_: Any, **keywords: Any) -> Tensor:
        output = keywords.get("input", output)
        loss = WorkloadLoss(values, keywords.get("reduction", "mean"))
        return loss.forward(output, keywords.get("target", target))

    return {MADE: made, CALLED: called, SAME: _same}


def _comparable(one: Any, other: Any) -> Any:
    """``one == other``; predicted classes that cannot be compared with numbers equal none."""
    try:
        return one == other
    except RuntimeError:
        return _same(one, other)


def _same(one: Any, other: Any) -> Any:
    """``one == other``; predicted classes equal no number of any other shape."""
    tensors = isinstance(one, Tensor) and isinstance(other, Tensor)
    if tensors and one.shape != other.shape:
        return torch.zeros(one.shape, dtype=torch.bool)
    return one == other
