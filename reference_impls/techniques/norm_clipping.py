"""Clipping by global norm: one factor for the whole gradient, so that its direction is kept.

Source: Pascanu et al. 2013; torch.nn.utils.clip_grad_norm_. That function says nothing when it is
given no gradient: a generator that was used up, or a call before backward.
"""

from collections.abc import Iterable

from torch import Tensor
from torch.nn.utils import clip_grad_norm_


def clip_by_norm_(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Scale all gradients by ``min(1, max_norm / norm)``, in place.

    Returns:
        The L2 norm of the whole gradient before clipping; may be infinite or NaN, and is then to
        be looked at before the step.

    Raises:
        ValueError: max_norm is not positive, or no parameter has a gradient.
    """
    if max_norm <= 0:
        raise ValueError(f"max_norm must be positive, got {max_norm}")
    found = [p for p in parameters if p.grad is not None]
    if not found:
        raise ValueError("no parameter has a gradient: clip after backward, with a fresh iterable")
    return clip_grad_norm_(found, max_norm).item()
