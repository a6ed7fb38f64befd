"""A loop that updates parameters itself is a loop, and a few lines about gradients are none."""

import ast

import pytest

from harness.extraction.by_hand import changes_by_hand

UPDATES = [
    "for p in model.parameters():\n    p -= lr * p.grad",
    "for p in params:\n    p.data.add_(p.grad.data, alpha=-lr)",
    "for p in params:\n    p.data = p.data - lr * p.grad",
    "for p, v in zip(params, velocity):\n    v.mul_(0.9).add_(p.grad)\n    p.add_(v, alpha=-lr)",
    "grads = torch.autograd.grad(loss, params)\nfor p, g in zip(params, grads):\n    p.sub_(lr * g)",
    "torch._foreach_add_(params, grads, alpha=-lr)",
]
OTHERS = [
    "for p in params:\n    p.grad.add_(noise)",
    "for p in params:\n    p.grad.data /= 4",
    "for e, p in zip(average, params):\n    e.mul_(0.9).add_(p, alpha=0.1)",
    "for p in params:\n    total += p.grad.norm() ** 2",
    "for p in params:\n    p.data.clamp_(-1, 1)",
]


@pytest.mark.parametrize("code", UPDATES)
def test_a_loop_that_writes_into_parameters_beside_gradients_updates_them(code):
    assert changes_by_hand(ast.parse(code))


@pytest.mark.parametrize("code", OTHERS)
def test_what_changes_gradients_averages_or_weights_alone_does_not(code):
    assert not changes_by_hand(ast.parse(code))
