"""Options of a script that manage gradients: given by ``--args``, and tried where they are off."""

import pytest
from typer.testing import CliRunner

from harness.cli import app

SCRIPT = """
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
parser.add_argument("--grad-accum", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.05)
args = parser.parse_args()

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
x = torch.randn(96, 8)
for i, (a, b) in enumerate(DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)):
    with torch.autocast("cuda", enabled=args.amp):
        loss = nn.functional.cross_entropy(model(a), b) / args.grad_accum
    scaler.scale(loss).backward()
    if (i + 1) % args.grad_accum == 0:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""

UNDIVIDED = SCRIPT.replace(" / args.grad_accum", "")
LATE = SCRIPT.replace("        scaler.unscale_(optimizer)\n", "")


@pytest.fixture
def script(tmp_path):
    def written(text):
        (tmp_path / "train.py").write_text(text)
        return tmp_path / "train.py"

    return written


def test_a_right_script_is_right_with_its_other_options_as_well(graded, script):
    code, (line,) = graded(script(SCRIPT))

    assert (code, line["code"]) == (0, "right")
    assert line["notes"][0] == "It is right with `--amp --grad-accum=4` as well."
    assert line["settings"]["micro_batches"] == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [(UNDIVIDED, "accumulation-equals-large-batch"), (LATE, "unscaled-norm")],
    ids=["undivided", "clipped while scaled"],
)
def test_a_fault_under_an_option_that_is_off_is_found_and_the_option_is_named(
    graded, script, text, fault
):
    code, (line,) = graded(script(text))

    assert (code, line["code"]) == (1, "wrong")
    assert fault in line["failed"]
    said = "This is how it trains with `--amp --grad-accum=4`; with its defaults it is right."
    assert line["notes"][0] == said


def test_a_command_line_that_is_given_is_the_one_that_is_judged(graded, script):
    code, (line,) = graded(script(SCRIPT), "--args", "--grad-accum 2 --lr 0.1")

    assert (code, line["code"]) == (0, "right")
    assert line["settings"]["micro_batches"] == 2
    assert line["notes"][0] == "It is right with `--amp` as well."


def test_a_command_line_that_is_none_is_refused_with_what_is_expected(script):
    result = CliRunner().invoke(app, ["grade", str(script(SCRIPT)), "--args", "'"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected what a shell takes" in result.stderr


RANKS = """
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def work(rank, world):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29501", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    draw = torch.Generator().manual_seed(rank)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(8, 4, generator=draw)).pow(2).mean().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--procs", type=int, default=3)
    args = parser.parse_args()
    mp.spawn(work, (args.procs,), nprocs=args.procs)
"""


def test_a_script_trains_on_as_many_ranks_as_it_starts(graded, script):
    """It divides by that number, so on others its mean would be none."""
    code, (line,) = graded(script(RANKS))

    assert (code, line["code"]) == (0, "right"), line
    assert line["settings"]["ranks"] == 3


APART = """
import torch
import torch.multiprocessing as mp
from torch import nn

def train(seed):
    torch.manual_seed(seed)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()

if __name__ == "__main__":
    runs = [mp.Process(target=train, args=(seed,)) for seed in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
"""


def test_processes_that_form_no_group_are_no_ranks(graded, script):
    """Each trains a model of its own, and none has to agree with another."""
    code, (line,) = graded(script(APART))

    assert (code, line["code"]) == (0, "right"), line
    assert line["settings"]["ranks"] == 1
