"""How long a pass is under Lightning, where the program sets no limit."""

from importlib.util import find_spec

import pytest

# Not imported here: that takes seconds in each process that collects.
pytestmark = pytest.mark.skipif(not find_spec("lightning"), reason="lightning is an extra")

PROGRAM = """
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
    def training_step(self, batch, index):
        return nn.functional.mse_loss(self.net(batch[0]), batch[1])
    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.01)
        steps = self.trainer.estimated_stepping_batches
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=steps)
        return {{"optimizer": optimizer, "lr_scheduler": {schedule}}}
rows = TensorDataset(torch.randn(800, 4), torch.randn(800, 1))
L.Trainer(max_epochs=20, {options}).fit(Net(), DataLoader(rows, batch_size=8))
"""
ONCE_A_PASS, ONCE_AN_UPDATE = "schedule", '{"scheduler": schedule, "interval": "step"}'


def of(see, schedule=ONCE_A_PASS, options=""):
    return see(PROGRAM.format(schedule=schedule, options=options))


def test_a_schedule_that_is_moved_once_a_pass_is_seen_to_move(see):
    moved = [u.scheduler_steps for u in of(see).trace.updates]

    assert sum(moved) >= 2
    assert sum(moved) <= len(moved) / 2


def test_a_schedule_that_is_moved_with_each_update_is_seen_to_do_so(see):
    assert {u.scheduler_steps for u in of(see, ONCE_AN_UPDATE).trace.updates} == {1}


def test_windows_are_whole_where_the_trainer_accumulates(see):
    assert set(of(see, options="accumulate_grad_batches=8").windows) == {8}


def test_an_interval_of_evaluations_that_is_longer_than_a_pass_is_shortened(see):
    assert len(of(see, options="val_check_interval=50").windows) >= 8


def test_a_limit_of_the_program_stays(see):
    assert "a loader of a Trainer" not in of(see, options="limit_train_batches=6").lent


def test_the_best_score_of_a_checkpoint_that_is_not_kept_can_be_shown(see):
    program = PROGRAM.format(schedule=ONCE_A_PASS, options="callbacks=[best]").replace(
        "L.Trainer", 'best = L.pytorch.callbacks.ModelCheckpoint(monitor="loss")\nL.Trainer'
    )

    assert see(program + "print(float(best.best_model_score))\n").outcome.startswith("returned")
