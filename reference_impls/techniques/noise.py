"""Gradient noise: Gaussian noise whose variance falls with the number of updates.

Source: Neelakantan et al. 2015, "Adding Gradient Noise Improves Learning for Very Deep Networks":
variance eta / (1 + t)**0.55. The generator is the caller's, because ranks that draw different noise
after synchronisation part for good.
"""

from collections.abc import Iterable
from math import sqrt

import torch
from torch import Generator, Tensor


def noise_std(update: int, eta: float = 0.01, gamma: float = 0.55) -> float:
    """Standard deviation at an update, in units of the gradient.

    Raises:
        ValueError: the update is negative, or eta is.
    """
    if update < 0 or eta < 0:
        raise ValueError(f"update and eta must not be negative, got {update} and {eta}")
    return sqrt(eta / (1 + update) ** gamma)


@torch.no_grad()
def add_noise_(parameters: Iterable[Tensor], std: float, generator: Generator) -> None:
    """Add independent noise of this standard deviation to every gradient, in place.

    Once an update, after the last backward and before clipping. On several ranks every generator
    has to start from the same seed. Parameters without a gradient get none.
    """
    for parameter in parameters:
        if parameter.grad is not None:
            drawn = torch.randn(parameter.grad.shape, generator=generator)
            parameter.grad.add_(drawn.to(parameter.grad), alpha=std)
