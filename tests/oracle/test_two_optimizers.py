"""One model with two optimizers that step together is trained as with one."""

import re

import pytest

from tests.quality.judging import SCENARIOS, Court

AHEAD = """import torch

parameters = list(model.parameters())
rate = {"lr": 0.05}
encoder_optimizer = torch.optim.SGD(parameters[:2], **rate)
head_optimizer = torch.optim.SGD(parameters[2:], **rate)
optimizer = encoder_optimizer
"""

LOOPS = (
    "zero-grad-missing",
    "accumulation-loss-not-divided",
    "clip-after-step",
    "scheduler-with-accumulation",
)


def in_two(program: str) -> str:
    """Every call on the optimizer, made on one after the other; a schedule is the encoder's."""
    twice = r"encoder_optimizer.\1(\2); head_optimizer.\1(\2)"
    changed = re.sub(r"\boptimizer\.(step|zero_grad)\((.*?)\)", twice, program)
    assert changed != program
    return AHEAD + changed


@pytest.mark.parametrize("scenario", LOOPS)
def test_two_optimizers_for_one_model_are_a_spelling_of_the_fix(
    court: Court, scenario: str
) -> None:
    """Encoder and head, stepped one right after the other at the end of a window."""
    found = court.judged(SCENARIOS[scenario], in_two(SCENARIOS[scenario].reference))

    assert found.code == "right", found.story()


@pytest.mark.parametrize("scenario", LOOPS)
def test_two_optimizers_do_not_hide_the_fault(court: Court, scenario: str) -> None:
    """What the posted loop does wrong with one, it does wrong with two."""
    found = court.judged(SCENARIOS[scenario], in_two(SCENARIOS[scenario].buggy))

    assert found.code == "wrong", found.story()
