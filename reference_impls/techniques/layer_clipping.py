"""Clipping layer by layer: each layer's whole gradient, weight and bias, is bounded on its own.

Source: torch.nn.utils.clip_grad_norm_, one call a layer. It changes the direction of the update as
a whole; a layer is a module that holds parameters of its own, so nested modules are not clipped
twice and no parameter is left out.
"""

from torch import nn
from torch.nn.utils import clip_grad_norm_


def clip_per_layer_(model: nn.Module, max_norm: float) -> dict[str, float]:
    """Bound each layer's gradient, in place.

    Args:
        model: any module; layers without a gradient are left out.
        max_norm: largest L2 norm of one layer's gradient.

    Returns:
        The norm of each layer before clipping, by its name ("" for the model's own parameters).

    Raises:
        ValueError: max_norm is not positive.
    """
    if max_norm <= 0:
        raise ValueError(f"max_norm must be positive, got {max_norm}")
    norms = {}
    for name, layer in model.named_modules():
        own = [p for p in layer.parameters(recurse=False) if p.grad is not None]
        if own:
            norms[name] = clip_grad_norm_(own, max_norm).item()
    return norms
