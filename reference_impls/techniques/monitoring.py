"""Monitoring gradients without changing them: norms before clipping, layer by layer, to any logger.

A logger is a function ``(name, value, step)``: ``SummaryWriter.add_scalar`` fits as it is, and for
wandb ``lambda name, value, step: run.log({name: value}, step=step)``.
"""

from collections.abc import Callable
from math import sqrt

import torch
from torch import nn

Logger = Callable[[str, float, int], None]


@torch.no_grad()
def log_gradients(model: nn.Module, step: int, log: Logger) -> float:
    """Log the norm of each gradient, its ratio to the norm of its parameter, and the whole norm.

    After the last backward and unscale_, before the clip. Nothing is changed. Parameters without
    a gradient are left out; the ratio is left out where the parameter is 0.

    Args:
        model: the model whose gradients are read.
        step: number of the update.
        log: receives ``gradient/<name>``, ``ratio/<name>`` and ``gradient_norm``, norms in units
            of the loss per unit of the parameter.

    Returns:
        The L2 norm of the whole gradient.
    """
    squares = 0.0
    for name, parameter in model.named_parameters():
        if parameter.grad is None:
            continue
        norm, size = parameter.grad.norm().item(), parameter.norm().item()
        log(f"gradient/{name}", norm, step)
        if size > 0:
            log(f"ratio/{name}", norm / size, step)
        squares += norm**2
    log("gradient_norm", sqrt(squares), step)
    return sqrt(squares)
