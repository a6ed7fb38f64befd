"""Weights that a model computes of other parameters before each call: ``weight_norm`` and its like."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized
from torch.nn.utils.weight_norm import WeightNorm

Computed = Callable[[], Tensor]
"""The weight as it is now."""


def computed(model: nn.Module, name: str) -> Computed | None:
    """What ``name``, once a parameter of ``model``, is computed by; ``None`` where that is not known."""
    path, _, attribute = name.rpartition(".")
    try:
        module = model.get_submodule(path)
    except AttributeError:
        return None
    if is_parametrized(module, attribute):
        return partial(_at_no_cost, partial(getattr, module, attribute))
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == attribute:
            return partial(_at_no_cost, partial(hook.compute_weight, module))
    return None


def unless_the_same(compute: Computed, before: Tensor | None) -> Computed:
    """The weight, bit for bit as it was ``before`` for as long as nothing has changed it: computing
    it rounds anew.
    """
    first = compute()

    def weight() -> Tensor:
        now = compute()
        return before if before is not None and torch.equal(now, first) else now

    return weight


def _at_no_cost(compute: Computed) -> Tensor:
    """Neither a graph nor numbers drawn at random come of it."""
    drawn = torch.get_rng_state()
    try:
        with torch.no_grad():
            return compute().detach()
    finally:
        torch.set_rng_state(drawn)
