"""Optimizers that undo what a program did to its gradients, on updates of a few numbers."""

import numpy as np

from harness.domain.event import Clip, OptimizerStep, ParameterGroup
from harness.oracle.facts import Consumed, RankRun
from harness.oracle.following import behind_the_gradient

RATE = 0.1
GROUP = ParameterGroup(parameters=("w",), numbers={"lr": RATE}, flags={})
STEP = OptimizerStep(optimizer=0, type="mine.Optimizer", groups=(GROUP,))
GRADIENTS = np.random.default_rng(3).normal(size=(7, 20))


def run(momentum):
    """Each change is this part of the one before, less the gradient times the rate."""
    now, change, updates = np.zeros(20), np.zeros(20), []
    for gradient in GRADIENTS:
        change = momentum * change - RATE * gradient
        updates.append(update(gradient, now, now + change))
        now = now + change
    return RankRun([], {}, {}, {}, updates, [], 0, sampled=False)


def clipped(gives_back):
    """Each gradient is clipped at 1; the optimizer follows it, or what it was before."""
    now, updates = np.zeros(20), []
    for size, gradient in enumerate(GRADIENTS, start=1):
        whole = 3.0 * size * gradient
        length = float(np.linalg.norm(whole))
        change = -RATE * (whole if gives_back else whole / length)
        clip = Clip(function="clip_grad_norm_", threshold=1.0, returned=length, parameters=1)
        updates.append(update(whole / length, now, now + change, clips=[clip]))
        now = now + change
    return RankRun([], {}, {}, {}, updates, [], 0, sampled=False)


def update(gradient, before, after, **fields):
    moved = ({"w": before}, {"w": after})
    return Consumed([], {"w": gradient}, [STEP], *moved, False, 0, 1.0, **fields)


def test_an_optimizer_that_keeps_all_of_each_change_forgets_no_gradient():
    assert "forgets none" in str(behind_the_gradient(run(1.0)))


def test_momentum_below_1_forgets():
    assert behind_the_gradient(run(0.9)) is None
    assert behind_the_gradient(run(0.0)) is None
    assert behind_the_gradient(run(-1.0)) is None


def test_an_optimizer_that_steps_by_as_much_as_the_clip_took_gives_it_back():
    assert "the clip has no effect" in str(behind_the_gradient(clipped(gives_back=True)))
    assert behind_the_gradient(clipped(gives_back=False)) is None
