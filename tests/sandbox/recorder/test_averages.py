"""Averages of weights, in the real jail: which of them share their memory with the weights."""

import pytest

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.oracle.measure import measure
from harness.properties.learning import training_mode_kept
from tests.sandbox.recorder.test_schedules_and_losses import PROBE, WORKLOAD, run

PROGRAM = """
import copy, torch
average = {average}
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        for name, value in model.state_dict().items():
            {mixed}
"""
LERP = "average[name].lerp_(value, 0.1)"
MIXED = (LERP, "average[name].mul_(0.9).add_(value, alpha=0.1)")
UNCOPIED = (
    "model.state_dict()",
    "{k: v.detach() for k, v in model.named_parameters()}",
    "dict(copy.copy(model).named_parameters())",
)
COPIED = (
    "copy.deepcopy(model).state_dict()",
    "{k: v.clone() for k, v in model.state_dict().items()}",
)


def judged(executor, average, mixed):
    recording = run(executor, PROGRAM.format(average=average, mixed=mixed))
    probe = measure(recording, WORKLOAD, PROBE, Expectations())
    return training_mode_kept.judge(Trace(probes=(probe,)), Expectations())


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize("average", UNCOPIED)
def test_an_average_that_is_the_weights_themselves_is_wrong(executor, average, mixed):
    verdict = judged(executor, average, mixed)

    assert verdict.outcome == "fail"
    assert "averaged with themselves" in verdict.sentence


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize("average", COPIED)
def test_an_average_of_copies_is_right(executor, average, mixed):
    assert judged(executor, average, mixed).outcome == "pass"


def test_a_decay_of_weights_by_hand_is_no_average(executor):
    decay = "value.mul_(1 - 1e-3); value.add_(value, alpha=-1e-3)"

    assert judged(executor, "None", decay).outcome == "pass"


SLOW = """
import copy, torch
average = copy.deepcopy(model)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            {mixed}
"""
SWAPPED = (
    "a.lerp_(p, 0.99)",
    "a.mul_(1 - 0.99).add_(p, alpha=0.99)",
    "a.copy_(0.01 * a + 0.99 * p)",
    "a.data.copy_(0.99 * p.data + a.data * 0.01)",
    "share = min(0.999, globals().get('share', 0.99) + 0.001); a.lerp_(p, share)",
)
UNSWAPPED = (
    "(p > 0).copy_(p > 1); a.copy_(p.to(torch.bfloat16))",
    "a.lerp_(p, 0.01)",
    "a.mul_(0.99).add_(p, alpha=1 - 0.99)",
    "a.copy_(0.99 * a + 0.01 * p)",
    "a.copy_(p)",
    "steps = globals().get('steps', 0) + 1; a.lerp_(p, 1 - min(0.9, steps / (steps + 90)))",
)


@pytest.mark.parametrize("mixed", SWAPPED)
def test_an_average_that_takes_nearly_all_from_the_newest_weights_is_wrong(executor, mixed):
    recording = run(executor, SLOW.format(mixed=mixed))
    probe = measure(recording, WORKLOAD, PROBE, Expectations())
    verdict = training_mode_kept.judge(Trace(probes=(probe,)), Expectations())

    assert verdict.outcome == "fail"
    assert "Exchange the two coefficients" in verdict.sentence


@pytest.mark.parametrize("mixed", UNSWAPPED)
def test_a_slow_average_a_copy_and_a_warm_up_are_right(executor, mixed):
    recording = run(executor, SLOW.format(mixed=mixed))
    probe = measure(recording, WORKLOAD, PROBE, Expectations())

    assert training_mode_kept.judge(Trace(probes=(probe,)), Expectations()).outcome == "pass"


def test_other_arguments_of_what_is_watched_are_torchs_own_matter(executor):
    """``add_`` with its factor first, as torch once had it; a copy that does not wait."""
    also = (
        "value.clone().add_(-0.1, value)\n            value.clone().copy_(value, non_blocking=True)"
    )
    recording = run(executor, PROGRAM.format(average=COPIED[0], mixed=also))

    assert recording.problem is None
    probe = measure(recording, WORKLOAD, PROBE, Expectations())
    assert probe.program.outcome == "returned"
