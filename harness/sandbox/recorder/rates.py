"""Learning rates of an optimizer, as numbers."""

from torch import Tensor
from torch.optim import Optimizer


def rates_of(optimizer: Optimizer) -> tuple[float, ...]:
    """That of each group; none where one goes without, as by steps that are relative to the weights."""
    given = (group.get("lr") for group in optimizer.param_groups)
    return tuple(float(lr) for lr in given if isinstance(lr, int | float | Tensor))
