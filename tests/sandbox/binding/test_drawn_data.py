"""Data that a program draws for lack of the user's gives way to the workload's."""

import pytest

STEP = """
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
HEAD = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
STYLES = {
    "a DataLoader": "loader = DataLoader(TensorDataset(torch.randn(40, 5), torch.randn(40, 2)), batch_size=4)\n"
    "for x, y in loader:",
    "a list of pairs": "data = [(torch.randn(4, 5), torch.randn(4, 2)) for _ in range(10)]\nfor x, y in data:",
    "a pair for every step": "for step in range(14):\n    x, y = torch.randn(4, 5), torch.randn(4, 2)",
    "a function that draws": "def draw():\n    return torch.randn(4, 5), torch.randn(4, 2)\n"
    "for step in range(14):\n    x, y = draw()",
}


@pytest.mark.parametrize("style", STYLES)
def test_drawn_batches_are_the_workloads(run, style):
    ran = run(HEAD + STYLES[style] + STEP)

    assert ran.outcome == "ran"
    assert (ran.batches["train"], ran.steps) == (14, 14)


def test_drawn_data_stays_where_the_program_times_itself(run):
    """What is measured is the program's own."""
    ran = run(
        "import time\nbegan = time.perf_counter()\n" + HEAD + STYLES["a list of pairs"] + STEP
    )

    assert (ran.batches, ran.steps) == ({}, 10)


def test_drawn_data_stays_where_the_model_does_more_than_compute(run):
    """Such a model may be what the program is about, and no other may take its place."""
    own = """
class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 7), nn.Linear(7, 2)

    def forward(self, x):
        return self.b(self.a(x).detach())

model = Cut()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
    ran = run(HEAD + own + STYLES["a list of pairs"] + STEP)

    assert (ran.batches, ran.steps) == ({}, 10)


def test_a_dataset_around_the_users_hands_on_its_samples(run):
    around = """
class Named(Dataset):
    def __init__(self, base):
        self.base = base

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        x, y = self.base[i]
        return {"x": x, "y": y}

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
for batch in DataLoader(Named(train_dataset), batch_size=8):
    x, y = batch["x"], batch["y"]
"""
    ran = run("from torch.utils.data import Dataset\n" + around + STEP)

    assert ran.outcome == "ran"
    assert ran.batches["train"] == 14


def test_a_loss_of_classes_gives_way_where_targets_are_numbers(run):
    program = HEAD + STYLES["a DataLoader"] + STEP.replace("mse_loss", "cross_entropy")
    ran = run(program.replace("torch.randn(40, 2)", "torch.randint(0, 2, (40,))"))

    assert ran.outcome == "ran"
    assert any("cross-entropy" in note for note in ran.notes)


@pytest.mark.parametrize("weight", ["N * len(y) / total", "len(y) / mean_size"])
def test_a_weight_before_a_backward_is_one_number(run, weight):
    """Nothing sums the product, so the loss is no loss of each sample, whatever it is called."""
    ran = run(
        "total = 0\nfor x, y in train_loader:\n    total += len(y)\nmean_size = total / 14\n"
        f"for x, y in train_loader:\n    weight = {weight}\n"
        "    (weight * criterion(model(x), y)).backward()\n    optimizer.step()\n"
    )

    assert ran.outcome == "ran"


def test_names_that_are_imported_later_are_what_is_imported(run):
    """Fragments stand in the order of the answer; their reader puts imports first."""
    ran = run(
        "for x, y in train_loader:\n    criterion(model(x), y).backward()\n"
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n"
        "result = clip is torch.nn.utils.clip_grad_norm_\n"
        "import torch\nfrom torch.nn.utils import clip_grad_norm_ as clip\n"
    )

    assert ran.result == "True"


MASKED = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return torch.randn(5), torch.randint(0, 4, ()), torch.rand(()) > 0.3

def collate(rows):
    x, y, real = (torch.stack(part) for part in zip(*rows))
    return x, y, {mask}

model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y, mask in DataLoader(Rows(), batch_size=4, collate_fn=collate):
    optimizer.zero_grad()
    losses = nn.functional.cross_entropy(model(x), y, reduction="none")
    ((losses * mask).sum() / mask.sum()).backward()
    optimizer.step()
"""


def test_masks_that_the_program_makes_give_way_to_the_workloads(run):
    ran = run(MASKED.replace("{mask}", "real.float()"), workload="padded")

    assert ran.outcome == "ran"
    assert ran.batches["train"] == ran.steps > 0


def test_masks_that_mark_nothing_do_not_give_way(run):
    """The workload's are right, whatever the program's own function makes of its rows."""
    ran = run(MASKED.replace("{mask}", "torch.ones(len(y))"), workload="padded")

    assert ran.error == "Unbound"
