"""Clipping group by group: each parameter group of an optimizer has a threshold of its own.

Source: torch.nn.utils.clip_grad_norm_, one call a group. For parts whose gradients differ by
nature, a pretrained backbone and a new head; learning rates by group are the first lever.
"""

from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer


def clip_per_group_(optimizer: Optimizer) -> list[float]:
    """Bound the gradient of each group by the group's ``max_norm``, in place.

    A group without that key is left alone; its norm is still returned.

    Returns:
        The L2 norm of each group before clipping, in the optimizer's order.

    Raises:
        ValueError: a max_norm is not positive.
    """
    norms = []
    for group in optimizer.param_groups:
        limit = group.get("max_norm", float("inf"))
        if limit <= 0:
            raise ValueError(f"max_norm must be positive, got {limit}")
        norms.append(clip_grad_norm_(group["params"], limit).item())
    return norms
