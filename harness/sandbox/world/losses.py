"""Classification losses on workloads whose targets are numbers: the workload's own loss replaces them.

On numbers that loss is none to train on, and its gradient says nothing about how a loop adds up what
it is given.
"""

import functools
from typing import Any

from torch import Tensor
from torch.nn import functional

from harness.sandbox.unbound import Unbound
from harness.sandbox.world.lending import Lender

OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
"""Losses whose targets are as wide as what they are compared with."""

NOTE = "cross-entropy: the targets here are numbers, so the workload's own loss is used"


def take_place(lender: Lender) -> None:
    """Patch torch's losses for this process, as far as the workload's data asks for it."""
    values = lender.values
    if (
        values.parts
        or not values.batches[0].target.is_floating_point()
        or values.workload.extra_names()
    ):
        return
    for name in ("cross_entropy", "nll_loss"):
        setattr(functional, name, _of_numbers(lender, getattr(functional, name)))
    for name in OF_NUMBERS if lender.alone else ():
        setattr(functional, name, _in_its_width(getattr(functional, name)))
    shares = _of_shares(lender, functional.binary_cross_entropy)
    setattr(functional, "binary_cross_entropy", shares)  # noqa: B010 - mypy refuses to assign


def _in_its_width(original: Any) -> Any:
    """Targets of several columns do not fit a model of one: torch would compare it with each."""

    @functools.wraps(original)
    def loss(input: Any, target: Any, *args: Any, **keywords: Any) -> Tensor:  # noqa: A002 - torch's name
        both = isinstance(input, Tensor) and isinstance(target, Tensor)
        if both and input.dim() == target.dim() == 2 and input.shape[1] == 1 < target.shape[1]:
            raise RuntimeError(
                f"The size of tensor a (1) must match the size of tensor b ({target.shape[1]}) at "
                "non-singleton dimension 1"
            )
        return original(input, target, *args, **keywords)  # type: ignore[no-any-return]  # a tensor

    return loss


def refuse_forced() -> None:
    """A loss that is told to ask for a gradient had none in the reader's world; a lent model gives it
    one.
    """
    original = Tensor.requires_grad_

    def forced(self: Tensor, requires_grad: bool = True) -> Tensor:  # noqa: FBT001, FBT002 - torch's own
        if requires_grad and self.grad_fn is not None and self.dim() == 0:
            raise Unbound("model", "has parts without gradients, for a loss is told to have one")
        return original(self, requires_grad)

    setattr(Tensor, "requires_grad_", forced)  # noqa: B010 - mypy refuses to assign to a method


def _of_numbers(lender: Lender, original: Any) -> Any:
    values = lender.values

    @functools.wraps(original)  # who records losses tells them by name
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


def _of_shares(lender: Lender, original: Any) -> Any:
    """Numbers that were lent as targets are no shares, nor is what a lent model gives for its rows."""

    @functools.wraps(original)
    def loss(input: Any, target: Any, *args: Any, **keywords: Any) -> Tensor:  # noqa: A002 - torch's name
        lent = [note for note in lender.notes if ": target" in note or ": loader of" in note]
        if lent and _is_no_share(target):
            target = (target > 0).to(target.dtype)
        if _is_no_share(input) and not lender.own_model:
            input = input.sigmoid()  # noqa: A001 - torch's name
        return original(input, target, *args, **keywords)  # type: ignore[no-any-return]  # a tensor

    return loss


def _is_no_share(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(((value < 0) | (value > 1)).any())
