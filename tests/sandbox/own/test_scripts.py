"""Whole scripts, run as they are: own model, data, loss, loop, command line, checkpoints."""

import textwrap

import pytest

LOOP = """
def train(model, loader, optimizer, accumulation_steps=2):
    k = accumulation_steps
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), y) / k
        loss.backward()
        if (i + 1) % k == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1e9)
            optimizer.step()
            optimizer.zero_grad()
"""

HEAD = """
import argparse, os, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def data(n=400, batch=8):
    torch.manual_seed(0)
    return DataLoader(TensorDataset(torch.randn(n, 4), torch.randn(n, 1)), batch_size=batch, num_workers=4)
"""

MAIN = """
if __name__ == "__main__":
    net = nn.Linear(4, 1)
    train(net, data(), torch.optim.SGD(net.parameters(), lr=0.01))
"""


def test_a_script_with_its_own_model_data_and_loss_is_recorded_window_by_window(see):
    seen = see(HEAD + LOOP + MAIN)

    assert seen.outcome == "returned: None"
    assert seen.windows == [2] * 6
    assert seen.ratios == [1.0] * 6


def test_what_an_attack_on_the_input_left_is_no_micro_batch(see):
    """Adversarial training clears it before the backward that trains."""
    loop = """
    def train(model, loader, optimizer):
        for x, y in loader:
            delta = torch.zeros_like(x).uniform_(-0.1, 0.1)
            delta.requires_grad = True
            nn.functional.mse_loss(model(x + delta), y).backward()
            delta = 0.1 * delta.grad.detach().sign()
            loss = nn.functional.mse_loss(model(x + delta), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """
    seen = see(HEAD + textwrap.dedent(loop) + MAIN)

    assert {*seen.windows} == {1}
    assert {*seen.ratios} == {1.0}


def test_a_loader_is_cut_to_whole_windows_and_told_so(see):
    seen = see(HEAD + LOOP + MAIN)

    assert "a loader of 50 batches: the first 12 of each pass" in seen.lent


def test_a_short_last_window_stays_short(see):
    """51 batches in windows of two leave one over, and so do those that are kept."""
    seen = see(HEAD + LOOP + MAIN.replace("data()", "data(401)"))

    assert "a loader of 51 batches: the first 13 of each pass" in seen.lent


def test_a_loop_without_end_is_ended_after_whole_windows(see):
    endless = """
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    while True:
        for _ in range(3):
            (net(torch.randn(2, 4)).pow(2).mean() / 3).backward()
        optimizer.step()
        optimizer.zero_grad()
    """
    seen = see(HEAD + endless.replace("\n    ", "\n"))

    assert seen.outcome.startswith("exited: stopped by the harness")
    assert {*seen.windows} == {3}


def test_required_arguments_get_what_fits(see):
    """A number by its name, one of the choices, a path, as many values as are wanted, a command."""
    program = (
        HEAD
        + LOOP
        + """
def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("evaluate").add_argument("checkpoint")
    fit = commands.add_parser("train")
    fit.add_argument("data_dir")
    fit.add_argument("--lr", type=float, required=True)
    fit.add_argument("--optimizer", choices=["SGD", "Adam"], required=True)
    fit.add_argument("--sizes", type=int, nargs=2, required=True)
    args = parser.parse_args()
    print(sorted(vars(args).items()))
    net = nn.Linear(4, 1)
    train(net, data(), getattr(torch.optim, args.optimizer)(net.parameters(), lr=args.lr))
main()
"""
    )
    seen = see(program)

    assert seen.windows == [2] * 6
    assert "('command', 'train'), ('data_dir', 'data'), ('lr', 0.001)" in seen.printed
    assert "('optimizer', 'SGD'), ('sizes', [1, 1])" in seen.printed


OPTIONS = """
parser = argparse.ArgumentParser()
parser.add_argument("--config", default=None)
parser.add_argument("--devices", default=None, type=int, nargs="+")
parser.add_argument("--resume", default=None)
parser.add_argument("--train", action="store_true")
args = parser.parse_args()
assert args.config is not None, "say with what"
print([str(one) for one in args.devices], args.config, args.resume)
net = nn.Linear(4, 1)
if args.train:
    train(net, data(), torch.optim.SGD(net.parameters(), lr=0.1))
"""


def test_an_option_at_which_a_program_fails_is_given_and_no_other(see):
    """And a switch that is called as what is asked for is on."""
    seen = see(HEAD + LOOP + OPTIONS)

    assert seen.windows == [2] * 6, seen.outcome
    assert "['1'] config.yaml None" in seen.printed


def test_no_option_is_given_where_backward_itself_fails(see):
    """With another option it might not, and nobody asked for that."""
    program = """
parser = argparse.ArgumentParser()
parser.add_argument("--keep", default=None)
args = parser.parse_args()
net = nn.Linear(4, 1)
loss = net(torch.ones(2, 4)).pow(2).mean()
for _ in range(5):
    loss.backward(retain_graph=args.keep)
"""

    assert see(HEAD + program).outcome.startswith("raised: Trying to backward through the graph")


def test_a_switch_without_which_a_program_refuses_is_on(see):
    program = """
parser = argparse.ArgumentParser()
parser.add_argument("--multiprocessing-distributed", action="store_true")
parser.add_argument("--evaluate", action="store_true")
args = parser.parse_args()
if not args.multiprocessing_distributed:
    raise NotImplementedError("Only distributed training is supported.")
print("evaluates:", args.evaluate)
"""

    assert see(HEAD + LOOP + program + MAIN).printed.startswith("evaluates: False")


def test_a_folder_of_data_that_is_empty_by_default_is_given(see):
    program = """
parser = argparse.ArgumentParser()
parser.add_argument("--data_dir", default="")
folder = parser.parse_args().data_dir
if not folder:
    raise ValueError("name a folder")
print(folder)
"""

    assert see(HEAD + LOOP + program + MAIN).printed.startswith("data")


def test_settings_of_a_file_that_is_not_here_go_by_their_names(see):
    program = (
        HEAD
        + LOOP
        + """
import json
with open("configs/base.json") as f:
    cfg = json.load(f)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=cfg["optimizer"]["lr"])
train(net, data(batch=cfg["train"]["batch_size"]), optimizer, cfg.get("k", 4))
"""
    )
    seen = see(program)

    assert {*seen.windows} == {4}
    assert "optimizer.lr = 0.001: base.json is not here" in seen.lent


def test_a_setting_whose_name_tells_nothing_is_named(see):
    program = (
        HEAD
        + LOOP
        + """
import json
cfg = json.load(open("base.json"))
print(1 + cfg["model"]["zeta"])
"""
        + MAIN
    )
    assert see(program).outcome == (
        "unbound: `model.zeta` is a setting of base.json, which is not here"
    )


def test_a_file_that_nothing_can_stand_in_for_is_named(see):
    program = HEAD + LOOP + "size = os.stat('rows/train.parquet').st_size\n" + MAIN

    assert see(program).outcome == "unbound: `train.parquet` is a file that is not here"


def test_checkpoints_are_saved_and_loaded_wherever_they_lie(see):
    program = (
        HEAD
        + LOOP
        + """
os.makedirs("/checkpoints/run", exist_ok=True)
os.makedirs("../../out", exist_ok=True)
net = nn.Linear(4, 1)
for path in ("/checkpoints/run/a.pt", "../../out/b.pt", "new/c.pt"):
    torch.save(net.state_dict(), path)
    net.load_state_dict(torch.load(path))
"""
        + MAIN
    )

    assert see(program).windows == [2] * 6


RESTORED = {
    "a checkpoint to go on from": """
state = torch.load("runs/last.pt", map_location="cpu")
net.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
first = state["epoch"] + 1
print(f"from {first}, best {state['best']:.3f}", state.get("seed", 0), max(state["best"], 0.5))
""",
    "weights whose names are changed": """
state = torch.load("pretrained.pth")
net.load_state_dict({name.removeprefix("module."): value for name, value in state.items()})
""",
}


@pytest.mark.parametrize("case", RESTORED)
def test_what_is_restored_from_a_file_that_is_not_here_stays_as_it_was(see, case):
    model = "net = nn.Linear(4, 1)\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    seen = see(HEAD + LOOP + model + RESTORED[case] + MAIN)

    assert seen.windows == [2] * 6
    assert "stays as it was initialised" in seen.lent


def test_data_of_a_file_that_is_not_here_is_named(see):
    program = HEAD + LOOP + "rows = torch.load('rows.pt')\nrows.shuffled()\n" + MAIN

    assert see(program).outcome.startswith("unbound: `rows.pt` is a file that is not here, and")


def test_pauses_of_a_script_cost_nothing(see):
    assert see(HEAD + LOOP + "time.sleep(1000)\n" + MAIN).windows == [2] * 6


def test_a_compiled_model_is_the_model(see):
    program = HEAD + LOOP + MAIN.replace("train(net", "train(torch.compile(net)")

    assert see(program).ratios == [1.0] * 6


def test_a_recurrent_network_trains_in_half_precision(see):
    """As on a GPU; a CPU has no such LSTM. What it and the layer above return is half precision."""
    program = """
    import torch
    from torch import nn
    lstm, head = nn.LSTM(3, 8, 2, batch_first=True, dropout=0.1).cuda(), nn.Linear(8, 1).cuda()
    optimizer = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            states, _ = lstm(torch.randn(5, 7, 3, device="cuda"))
            out = head(states[:, -1])
            loss = out.float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print({states.dtype, out.dtype})
    """
    seen = see(program)

    assert seen.outcome == "returned: None"
    assert seen.windows == [1] * 4
    assert seen.printed == "{torch.float16}"


def test_a_scaler_of_the_programs_own_is_recorded_and_not_replaced(see):
    program = (
        HEAD
        + """
class Scaler:
    def __init__(self):
        self.inner = torch.cuda.amp.GradScaler(init_scale=1024.0)
    def __call__(self, loss, optimizer, parameters, update):
        self.inner.scale(loss).backward()
        if update:
            self.inner.unscale_(optimizer)
            nn.utils.clip_grad_norm_(parameters, 0.001)
            self.inner.step(optimizer)
            self.inner.update()

class Engine:
    def __init__(self):
        self.net = nn.Linear(4, 1).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.scaler = Scaler()
        self.step = 0
    def fit(self, loader):
        it = iter(loader)
        x, y = next(it)
        while x is not None:
            with torch.autocast("cuda"):
                losses = {"mse": nn.functional.mse_loss(self.net(x.cuda()), y.cuda())}
            self.step += 1
            self.scaler(losses["mse"] / 2, self.optimizer, self.net.parameters(), self.step % 2 == 0)
            if self.step % 2 == 0:
                self.optimizer.zero_grad(set_to_none=True)
            x, y = next(it, (None, None))

Engine().fit(data())
"""
    )
    seen = see(program)

    assert seen.windows == [2] * 6
    assert {u.loss_scale for u in seen.trace.updates} == {1024.0}
    assert [round(u.consumed_norm, 5) for u in seen.trace.updates] == [0.001] * 6


def test_a_forward_that_a_library_put_another_in_place_of_is_still_seen(see):
    """Accelerate does so; only the first call was recorded."""
    program = (
        HEAD
        + LOOP
        + """
net = nn.Linear(4, 1)
inner = net.forward.__func__
net.forward = lambda x: inner(net, x)
train(net, data(), torch.optim.SGD(net.parameters(), lr=0.01))
"""
    )
    assert see(program).windows == [2] * 6


DDP = (
    HEAD
    + """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data.distributed import DistributedSampler

def work(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(200, 4), torch.randn(200, 1))
    loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows))
    net = DDP(nn.Linear(4, 1).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for i, (x, y) in enumerate(loader):
        nn.functional.mse_loss(net(x.to(rank)), y.to(rank)).backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()
"""
)


STARTED = {
    "by torchrun": "work(int(os.environ['LOCAL_RANK']), int(os.environ['WORLD_SIZE']))",
    "by spawn": (
        "import torch.multiprocessing as mp\nn = torch.cuda.device_count()\n"
        "mp.spawn(work, args=(n,), nprocs=n)"
    ),
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("start", STARTED)
def test_ranks_that_torchrun_or_spawn_starts_are_there(see, ranks, start):
    seen = see(DDP + STARTED[start], ranks=ranks)

    assert seen.outcome == "returned: None"
    assert len(seen.trace.ranks) == ranks
    assert seen.ratios == [1.0] * 13


def test_parameters_have_one_name_on_all_ranks_whoever_calls_the_model_inside_ddp_first(see):
    """Rank 0 often evaluates the bare model before it trains; the other ranks begin with DDP."""
    begun = "    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)\n"
    evaluated = "    if rank == 0:\n        net.module(torch.randn(8, 4))\n"
    seen = see(DDP.replace(begun, evaluated + begun) + STARTED["by torchrun"], ranks=2)

    assert seen.trace.ranks_disagree < 1e-6


BY_ANOTHER_WAY = {
    "a forward that is called by its name": "net = nn.Linear(4, 1)\nforward, held = net.forward, net.parameters()",
    "parameters without a model": (
        "w = nn.Parameter(torch.zeros(4, 1))\nforward, held = (lambda x: x @ w), [w]"
    ),
    "a function of a model's parameters": (
        "net = nn.Linear(4, 1)\nheld = [*net.parameters()]\n"
        "forward = lambda x: torch.func.functional_call(net, dict(zip(('weight', 'bias'), held)), x)"
    ),
}


@pytest.mark.parametrize("case", BY_ANOTHER_WAY)
def test_what_no_model_is_called_for_is_recorded_by_what_backward_leaves(see, case):
    program = (
        HEAD
        + BY_ANOTHER_WAY[case]
        + """
optimizer = torch.optim.SGD(held, lr=0.01)
for i, (x, y) in enumerate(data()):
    (nn.functional.mse_loss(forward(x), y) / 4).backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
    )
    seen = see(program)

    assert seen.windows == [4] * 4
    assert seen.ratios == [1.0] * 4


def test_of_a_large_model_samples_add_up_like_the_whole(see):
    program = (
        HEAD
        + """
net = nn.Sequential(nn.Linear(4, 1100), nn.Linear(1100, 1100), nn.Linear(1100, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
for i, (x, y) in enumerate(data(n=64)):
    (nn.functional.mse_loss(net(x), y) / 4).backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
    )
    seen = see(program)

    assert seen.windows == [4] * 2
    assert seen.ratios == [1.0] * 2


def test_a_process_of_a_class_of_the_programs_own_runs_what_it_runs(see):
    program = (
        HEAD
        + LOOP
        + """
class Worker(torch.multiprocessing.Process):
    def __init__(self, net):
        super().__init__()
        self.net = net.share_memory()
    def run(self):
        train(self.net, data(), torch.optim.SGD(self.net.parameters(), lr=0.1))
workers = [Worker(nn.Linear(4, 1)) for _ in range(2)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
"""
    )
    seen = see(program)

    assert {*seen.windows} == {2}, seen.outcome
