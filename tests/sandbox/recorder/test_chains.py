"""Calls of a model's layers one by one are put together again, and nothing else is."""

import torch
from torch import nn

from harness.sandbox.recorder.chains import Chains


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def seen(net: nn.Sequential, *steps: tuple[int, torch.Tensor]) -> list[tuple[int, ...]]:
    """Shapes in and out of every whole call, after these layers were given these inputs."""
    found: list[tuple[int, ...]] = []
    chains = Chains(lambda _, x, y: found.append((*x.shape, *y.shape)))
    chains.watch(net)
    for place, given in steps:
        chains.called(net[place], (given,), net[place](given))
    return found


def test_all_layers_in_order_are_a_call():
    net, x = model(), torch.randn(5, 3)
    outputs: list[torch.Tensor] = []
    whole: list[tuple[torch.Tensor, torch.Tensor]] = []
    chains = Chains(lambda _, entered, left: whole.append((entered, left)))
    chains.watch(net)
    given = x
    for layer in net:
        left = layer(given)
        chains.called(layer, (given,), left)
        outputs.append(left)
        given = left

    assert len(whole) == 1
    assert whole[0][0] is x
    assert whole[0][1] is outputs[-1]


def test_layers_that_do_not_follow_one_another_are_no_call():
    """Something was done in between, or a part was run again for its gradient."""
    net = model()

    assert seen(net, (0, torch.randn(5, 3)), (1, torch.randn(5, 4)), (2, torch.randn(5, 4))) == []
    assert seen(net, (2, torch.randn(5, 4))) == []
    assert seen(net, (0, torch.randn(5, 3)), (2, torch.randn(5, 4))) == []
