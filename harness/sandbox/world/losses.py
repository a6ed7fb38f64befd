"""Classification losses on workloads whose targets are numbers: the workload's own loss replaces them.

On numbers that loss is none to train on, and its gradient says nothing about how a loop adds up what
it is given.
"""

import ast
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from harness.sandbox.world import rewrite
from harness.sandbox.world.lending import Lender
from harness.sandbox.world.reading import last_name

NOTE = "cross-entropy: the targets here are numbers, so the workload's own loss is used"
OF_SCORES = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss")
"""Losses on a discriminator's scores: the labels may have one dimension less than ours."""


def take_place(lender: Lender, changes: rewrite.Changes) -> None:
    """Patch torch's losses for this process, as far as the workload's data asks for it."""
    values = lender.values
    if values.parts:
        for name in OF_SCORES:
            setattr(functional, name, _flat(getattr(functional, name)))
        return
    if not values.batches[0].target.is_floating_point() or values.workload.extra_names():
        return
    vars(lender.module)["__same__"] = _same
    if any(isinstance(n, ast.Compare | ast.Call) and _compares(n) for n in lender.reading.nodes):
        changes.compares = "__same__"
    for name in ("cross_entropy", "nll_loss"):
        setattr(functional, name, _of_numbers(lender, getattr(functional, name)))


def _compares(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return any(isinstance(op, ast.Eq) for op in node.ops)
    return isinstance(node, ast.Call) and last_name(node.func) == "eq"


def _of_numbers(lender: Lender, original: Any) -> Any:
    values = lender.values

    def loss(input: Any, target: Any, *args: Any, **keywords: Any) -> Tensor:  # noqa: A002 - torch's name
        if not isinstance(target, Tensor) or not target.is_floating_point():
            return original(input, target, *args, **keywords)  # type: ignore[no-any-return]  # a tensor
        if NOTE not in lender.notes:
            lender.notes.append(NOTE)
        output = input
        target = target.reshape(output.shape) if target.numel() == output.numel() else target
        reduction = keywords.get("reduction", "mean")
        if reduction == "mean":
            return values.criterion(output, target)
        losses = values.criterion_of_each(output, target)
        return losses.sum() if reduction == "sum" else losses

    return loss


def _flat(original: Any) -> Any:
    def loss(input: Any, target: Any, *args: Any, **keywords: Any) -> Tensor:  # noqa: A002 - as above
        if input.ndim == 2 and input.shape[1] == 1 and target.shape == input.shape[:1]:
            target = target.unsqueeze(1)
        return original(input, target, *args, **keywords)  # type: ignore[no-any-return]  # a tensor

    return loss


def _same(one: Any, other: Any) -> Any:
    """``one == other``; predicted classes equal no number of any other shape."""
    tensors = isinstance(one, Tensor) and isinstance(other, Tensor)
    if tensors and one.shape != other.shape:
        return torch.zeros(one.shape, dtype=torch.bool)
    return one == other
