"""The end of a window under a GradScaler: unscale, clip, step, update, once each and in this order.

Source: PyTorch, "Automatic Mixed Precision examples". Clipped before it is unscaled, an update would
come out with norm max_norm / scale whatever its gradient is.
"""

from collections.abc import Iterable

from torch import Tensor
from torch.amp import GradScaler
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer


def scaled_step(
    scaler: GradScaler, optimizer: Optimizer, parameters: Iterable[Tensor], max_norm: float
) -> tuple[float, bool]:
    """One update from gradients of ``scaler.scale(loss)``, summed over the window at one scale.

    Returns:
        The true L2 norm before clipping (infinite or NaN on an overflow), and whether the step
        was made. A skipped step is no update: leave the learning-rate schedule where it is.

    Raises:
        ValueError: max_norm is not positive.
        RuntimeError: the gradients were unscaled already.
    """
    if max_norm <= 0:
        raise ValueError(f"max_norm must be positive, got {max_norm}")
    scale = scaler.get_scale()
    scaler.unscale_(optimizer)
    norm = clip_grad_norm_(parameters, max_norm).item()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    return norm, scaler.get_scale() >= scale  # the scale falls only when a step was skipped
