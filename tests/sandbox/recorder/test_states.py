"""States that are put back, in the real jail: which of them are the model's own memory."""

import pytest

from harness.domain.scenario import Expectations
from harness.oracle.measure import measure
from tests.sandbox.recorder.test_schedules_and_losses import PROBE, WORKLOAD, run

PROGRAM = """
import copy, io, torch
buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
twin = copy.deepcopy(model)
saved = {saved}
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
{back}
"""


def nothing_restored(executor, saved, back="model.load_state_dict(saved)"):
    recording = run(executor, PROGRAM.format(saved=saved, back=back))
    return measure(recording, WORKLOAD, PROBE, Expectations()).restored_nothing


@pytest.mark.parametrize(
    "saved",
    [
        "model.state_dict()",
        "copy.copy(model.state_dict())",
        "{k: v for k, v in model.state_dict().items()}",
        "{k: v.detach() for k, v in model.state_dict().items()}",
    ],
)
def test_a_state_that_was_not_copied_restores_nothing(executor, saved):
    assert nothing_restored(executor, saved) == 1


@pytest.mark.parametrize(
    "saved",
    [
        "copy.deepcopy(model.state_dict())",
        "{k: v.clone() for k, v in model.state_dict().items()}",
        "torch.load(buffer)",
        "twin.state_dict()",
        "copy.deepcopy(model).state_dict()",
    ],
)
def test_a_copy_of_a_state_is_put_back(executor, saved):
    assert nothing_restored(executor, saved) == 0


def test_a_state_that_another_model_takes_is_not_restored(executor):
    assert nothing_restored(executor, "model.state_dict()", "twin.load_state_dict(saved)") == 0


def test_a_state_that_is_loaded_before_training_has_nothing_to_put_back(executor):
    assert nothing_restored(executor, "model.load_state_dict(model.state_dict())", "") == 0
