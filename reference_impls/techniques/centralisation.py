"""Gradient centralisation: each output unit's weight gradient loses its mean.

Source: Yong et al. 2020, "Gradient Centralization: A New Optimization Technique for Deep Neural
Networks". It is defined for matrices and kernels. A vector has no inputs to average over: taking
its mean away keeps biases from moving together, and a single bias from moving at all.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


@torch.no_grad()
def centralise_(parameters: Iterable[Tensor]) -> None:
    """Subtract from each gradient of shape (out, ...) its mean over all axes but the first.

    In place. Vectors, scalars and parameters without a gradient are left alone. Before clipping,
    because it makes the norm smaller.
    """
    for parameter in parameters:
        if parameter.grad is not None and parameter.ndim > 1:
            axes = tuple(range(1, parameter.ndim))
            parameter.grad.sub_(parameter.grad.mean(dim=axes, keepdim=True))
