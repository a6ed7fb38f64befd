"""Optimizers that undo what a program did to its gradients, on updates of a few numbers."""

import numpy as np

from harness.domain.event import OptimizerStep, ParameterGroup
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
        before, now = now, now + change
        update = Consumed([], {"w": gradient}, [STEP], {"w": before}, {"w": now}, False, 0, 1.0)
        updates.append(update)
    return RankRun([], {}, {}, {}, updates, [], 0, sampled=False)


def test_an_optimizer_that_keeps_all_of_each_change_forgets_no_gradient():
    assert "forgets none" in str(behind_the_gradient(run(1.0)))


def test_momentum_below_1_forgets():
    assert behind_the_gradient(run(0.9)) is None
    assert behind_the_gradient(run(0.0)) is None
    assert behind_the_gradient(run(-1.0)) is None
