"""An autograd function that returns a loss is asked whether its backward is its forward's derivative."""

import pytest
import torch

from harness.sandbox.derivatives import untrue_loss

OUTPUT = torch.linspace(-1.0, 2.0, 12).reshape(4, 3).requires_grad_()
TARGET = torch.ones(4, 3)


class Squares(torch.autograd.Function):
    """The mean of squares, rightly."""

    @staticmethod
    def forward(ctx, output, target):
        ctx.save_for_backward(output - target)
        return ((output - target) ** 2).mean()

    @staticmethod
    def backward(ctx, given):
        (off,) = ctx.saved_tensors
        return given * 2 * off / off.numel(), -given * 2 * off / off.numel()


class Enlarged(Squares):
    """Four times as much."""

    @staticmethod
    def backward(ctx, given):
        return tuple(4 * g for g in Squares.backward(ctx, given))


class Signs(Squares):
    """Another loss than that of its forward."""

    @staticmethod
    def backward(ctx, given):
        (off,) = ctx.saved_tensors
        return given * off.sign(), -given * off.sign()


class TargetFirst(Squares):
    """Four times as much, and nothing for its first argument."""

    @staticmethod
    def forward(ctx, target, output):
        return Squares.forward(ctx, output, target)

    @staticmethod
    def backward(ctx, given):
        return None, 4 * Squares.backward(ctx, given)[0]


def test_a_backward_that_is_the_derivative_is_left_alone():
    assert untrue_loss([(Squares, (OUTPUT, TARGET))]) is None


@pytest.mark.parametrize("function", [Enlarged, Signs, TargetFirst])
def test_a_backward_that_is_another_than_the_derivative_is_named(function):
    """A loss that was not divided was made up for in its backward."""
    given = (TARGET, OUTPUT) if function is TargetFirst else (OUTPUT, TARGET)
    said = untrue_loss([(Squares, (OUTPUT, TARGET)), (function, given)])

    assert (
        said == f"`{function.__name__}` gives gradients that are not the derivatives of its outputs"
    )
