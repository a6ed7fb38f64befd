"""A clip under a condition of the program's own, through the jail to its grade."""

import pytest

from harness.domain.graded import RUNGS, graded_probe
from tests.fakes.traces import probe, update
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


SEEN = (probe("loud", *(update(i, true=8.0, consumed=1.0) for i in range(3))),)


def test_only_programs_that_compare_sizes_are_run_once_more():
    """Where one threshold is asked for the whole model."""
    named = SCENARIOS["clip-after-step"]

    assert graded_probe(named, "if norm > 10: clip()", SEEN) is not None
    assert graded_probe(named, "clip(torch.gt(norm, 10))", SEEN) is not None
    assert graded_probe(named, "def clip(norm) -> None: clip_grad_norm_(p, 1.0)", SEEN) is None
    assert graded_probe(named, "if norm > 10: clip()", ()) is None
    assert graded_probe(SCENARIOS["zero-grad-missing"], "if norm > 10: clip()", SEEN) is None


@pytest.mark.parametrize("scenario", ["clip-after-step", "clip-per-micro-batch"])
def test_each_window_is_brought_to_its_size_from_what_it_is_by_itself(scenario):
    found = graded_probe(SCENARIOS[scenario], "norm > 1", SEEN)
    assert found is not None
    loud = next(p for p in SCENARIOS[scenario].probes if p.name == "loud")
    natural = 8.0 / loud.injection.factor

    sizes = [natural * found.injection.of_window(window) for window in range(len(RUNGS))]

    assert sizes == pytest.approx(RUNGS)
