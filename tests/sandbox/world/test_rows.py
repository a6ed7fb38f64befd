"""Batches come as a program takes them apart, however it does that."""

import pytest

BODY = """
    optimizer.zero_grad()
    criterion(model(inp), lab).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "taking",
    [
        "for inp, lab in train_loader:",
        "for i, (inp, lab) in enumerate(train_loader):",
        "for batch in train_loader:\n    inp, lab = batch",
        "for batch in train_loader:\n    inp, lab = batch[0], batch[1]",
        "for batch in train_loader:\n    inp = batch['input_ids']\n    lab = batch['labels']",
        "for batch in train_loader:\n    inp, lab = (t.to(device) for t in batch)",
        "for batch in train_loader:\n    inp, lab = batch.x, batch.y",
        "for lab, inp in ((y, x) for x, y in train_loader):",
        "it = iter(train_loader)\nfor _ in range(len(train_loader)):\n    inp, lab = next(it)",
    ],
)
def test_a_batch_is_taken_apart_in_any_way(run, taking):
    ran = run(taking + BODY)

    assert (ran.outcome, ran.steps) == ("ran", 14)


@pytest.mark.parametrize(
    "taking",
    [
        "for inp, output in data:\n    lab = output",
        "for batch in train_loader:\n    inp = batch['src']\n    lab = batch['tgt_output']",
        "for (inp, other), lab in train_loader:\n    assert other.shape == inp.shape",
    ],
)
def test_what_comes_out_is_the_target_and_a_pair_is_two_views(run, taking):
    ran = run(taking + BODY)

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_a_batch_is_a_mapping_to_a_model_that_is_called_with_keywords(run):
    program = """
for batch in train_loader:
    batch = {k: v.to(device) for k, v in batch.items()}
    out = model(**batch)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""

    assert run(program).steps == 14


def test_the_inputs_come_first_only_where_names_say_so(run):
    """The names of the loop decide the order, not the place."""
    first = run("for y, x in train_loader:\n    result = tuple(x.shape)")
    usual = run("for x, y in train_loader:\n    result = tuple(x.shape)")

    assert first.result == usual.result


def test_a_free_target_belongs_to_the_batch_that_was_handed_out(run):
    program = """
for batch in train_loader:
    optimizer.zero_grad()
    criterion(model(batch), target).backward()
    optimizer.step()
"""

    assert run(program).steps == 14


@pytest.mark.parametrize("name", ["data", "input"])
def test_what_a_model_is_called_with_is_its_input_whatever_else_that_name_may_mean(run, name):
    ran = run(f"criterion(model({name}), target).backward()\noptimizer.step()")
    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_a_model_whose_result_is_called_the_loss_computes_it(run):
    program = (
        "for batch in data:\n    loss = model(batch)\n    loss.backward()\n    optimizer.step()"
    )
    assert run(program).steps == 14


def test_a_slice_of_a_dataset_is_a_batch_of_its_samples(run):
    ran = run(f"for n in range(8):\n    inp, lab = dataset[n : n + 4]{BODY}")

    assert (ran.outcome, ran.steps) == ("ran", 8)


STEP_OF_LIGHTNING = """
import lightning as L, torch
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 3)
    def training_step(self, batch, batch_idx):
        x, y = batch
        return criterion(self.net(x), y) / self.trainer.accumulate_grad_batches
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
L.Trainer(max_epochs=1, accumulate_grad_batches=2).fit(Lit(), train_loader)
"""


def test_a_step_of_lightning_may_ask_its_trainer(run):
    ran = run(STEP_OF_LIGHTNING)

    assert (ran.outcome, ran.steps) == ("ran", 7)
