"""Where gradients go wrong: the order in which to look, from the loss to the single layer.

First whether anything is not finite, and where it began (input, output, loss, gradient); then
whether early layers are starved or flooded beside late ones; the size of the whole comes last,
because it depends on the units of the loss and says nothing alone.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

Finding = Literal[
    "input not finite", "parameter not finite", "output not finite", "loss not finite",
    "gradient not finite", "no gradient", "vanishing", "exploding", "healthy",
]  # fmt: skip


@dataclass(frozen=True)
class Diagnosis:
    """What was found first, and the figures behind it."""

    finding: Finding
    where: str
    """Parameter or layer that it was seen in; empty where it concerns the whole."""
    norms: dict[str, float]
    """Gradient norm of each weight matrix or kernel, first layer first."""


def diagnose(
    model: nn.Module,
    inputs: Tensor,
    output: Tensor,
    loss: Tensor,
    usual_norm: float | None = None,
    far: float = 1e3,
) -> Diagnosis:
    """The first of these that is true, after backward and before the step.

    Args:
        model: after ``loss.backward()``, gradients unscaled.
        inputs, output, loss: of that forward; the loss a scalar.
        usual_norm: typical norm of the whole gradient in this run, if it is known. Without it,
            nothing is called exploding: no absolute norm is large in every unit.
        far: ratio between layers, or to the usual norm, that counts as far.

    Raises:
        ValueError: the loss is no scalar, or far is not above 1.
    """
    if loss.numel() != 1 or far <= 1:
        raise ValueError("diagnose takes a scalar loss and a ratio above 1")
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    norms = {n: g.norm().item() for n, g in gradients.items() if g.ndim > 1}
    finding, where = (
        _not_finite(model, inputs, output, loss, gradients)
        or _by_layer(norms, far)
        or _by_size(gradients, usual_norm, far)
        or ("healthy", "")
    )
    return Diagnosis(finding, where, norms)


def _not_finite(
    model: nn.Module, inputs: Tensor, output: Tensor, loss: Tensor, gradients: dict[str, Tensor]
) -> tuple[Finding, str] | None:
    """In the order of cause: each of these makes the later ones not finite as well."""
    broken = [n for n, p in model.named_parameters() if not p.isfinite().all()]
    if inputs.is_floating_point() and not inputs.isfinite().all():
        return "input not finite", ""
    if broken:
        return "parameter not finite", broken[0]
    if not output.isfinite().all():
        return "output not finite", ""
    if not loss.isfinite().all():
        return "loss not finite", ""
    bad = [n for n, g in gradients.items() if not g.isfinite().all()]
    return ("gradient not finite", bad[-1]) if bad else None  # backward met the last layer first


def _by_layer(norms: dict[str, float], far: float) -> tuple[Finding, str] | None:
    if not norms or max(norms.values()) == 0:
        return "no gradient", ""
    names = list(norms)
    first, last = norms[names[0]], norms[names[-1]]
    if first * far < last:
        return "vanishing", names[0]
    return ("exploding", names[0]) if last * far < first else None


def _by_size(
    gradients: dict[str, Tensor], usual_norm: float | None, far: float
) -> tuple[Finding, str] | None:
    whole = torch.stack([g.norm() for g in gradients.values()]).norm().item()
    grown = usual_norm is not None and whole > far * usual_norm
    return ("exploding", "") if grown else None
