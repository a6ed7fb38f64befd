"""Clipping by value: each element is cut off on its own. It changes the direction of the update.

Source: torch.nn.utils.clip_grad_value_. Good for finding out which parameters spike; for training,
a norm keeps the direction and bounds the whole.
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_value_


def clip_by_value_(parameters: Iterable[Tensor], limit: float) -> float:
    """Bound every element to [-limit, limit], in place.

    Returns:
        The fraction of elements that were cut off: above a per cent or so the direction suffers.

    Raises:
        ValueError: limit is not positive, or no parameter has a gradient.
    """
    if limit <= 0:
        raise ValueError(f"limit must be positive, got {limit}")
    found = [p for p in parameters if p.grad is not None]
    if not found:
        raise ValueError("no parameter has a gradient: clip after backward, with a fresh iterable")
    gradients = [p.grad for p in found if p.grad is not None]
    over = sum(int(torch.count_nonzero(g.abs() > limit)) for g in gradients)
    clip_grad_value_(found, limit)
    return over / sum(g.numel() for g in gradients)
