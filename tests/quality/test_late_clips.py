"""A clip under a condition of the program's own, through the jail to its grade."""

import pytest

from harness.domain.graded import graded_probe
from tests.quality.judging import SCENARIOS

LOOP = """import torch
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    if {}:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, norm)
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("norm > 1.0", "right"),
        ("norm > 10.0", "wrong"),
        ("norm > 2.0", "wrong"),
        ("loss.item() > 20.0", "wrong"),
        ("norm > 1.0 and not norm > 5e4 or norm > 1e5", "right"),
    ],
)
def test_a_clip_acts_from_its_threshold_on(court, condition, code):
    found = court.judged(SCENARIOS["clip-before-backward"], LOOP.format(condition))

    assert found.code == code


def test_only_programs_that_compare_sizes_are_run_once_more():
    """Where one threshold is asked for the whole model, and the workload has gradients of all sizes."""
    named = SCENARIOS["clip-after-step"]

    assert graded_probe(named, "if norm > 10: clip()") is not None
    assert graded_probe(named, "clip(torch.gt(norm, 10))") is not None
    assert graded_probe(named, "def clip(norm) -> None: clip_grad_norm_(p, 1.0)") is None
    assert graded_probe(SCENARIOS["zero-grad-missing"], "if norm > 10: clip()") is None
    assert graded_probe(SCENARIOS["conflicting-advice"], "if norm > 10: clip()") is None


@pytest.mark.parametrize("scenario", ["clip-after-step", "clip-per-micro-batch"])
def test_a_window_has_one_size_and_the_next_one_another(scenario):
    probe = graded_probe(SCENARIOS[scenario], "norm > 1")
    assert probe is not None
    parameters = SCENARIOS[scenario].workload_of(probe).parameters
    sizes = [parameters.ladder[i // parameters.rung] for i in range(parameters.batches)]

    assert len(set(sizes[: parameters.rung])) == 1
    assert sizes[0] != sizes[parameters.rung]
