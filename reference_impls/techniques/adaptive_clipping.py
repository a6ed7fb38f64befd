"""Adaptive clipping: each unit's gradient is bounded by a fraction of that unit's own weights.

Source: Brock et al. 2021, "High-Performance Large-Scale Image Recognition Without Normalization"
(AGC). A unit is one output row of a matrix or kernel, or a whole vector. Without the floor, a unit
that starts at zero may never have a gradient, and stays at zero.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


def unit_norms(tensor: Tensor) -> Tensor:
    """L2 norm of each unit. (out, ...) -> (out, 1, ...); a vector or scalar is one unit: -> ()"""
    axes = tuple(range(1, tensor.ndim)) or None
    return torch.linalg.vector_norm(tensor, dim=axes, keepdim=axes is not None)


@torch.no_grad()
def adaptive_clip_(parameters: Iterable[Tensor], factor: float = 0.01, floor: float = 1e-3) -> int:
    """Shrink each unit's gradient to at most ``factor * max(norm of its weights, floor)``, in place.

    Args:
        parameters: tensors with a gradient; those without one are left out.
        factor: largest gradient norm as a fraction of the weight norm, dimensionless.
        floor: smallest weight norm that is assumed, in units of the weights.

    Returns:
        How many units were shrunk.

    Raises:
        ValueError: factor or floor is not positive.
    """
    if factor <= 0 or floor <= 0:
        raise ValueError(f"factor and floor must be positive, got {factor} and {floor}")
    shrunk = 0
    for parameter in parameters:
        if parameter.grad is None:
            continue
        allowed = factor * unit_norms(parameter).clamp(min=floor)
        norms = unit_norms(parameter.grad)
        scale = torch.where(norms > allowed, allowed / norms, torch.ones_like(norms))
        parameter.grad.mul_(scale)
        shrunk += int((scale < 1).sum())
    return shrunk
