"""Data-parallel training without DDP: gradients are averaged by hand after backward.

usage: torchrun --nproc_per_node=2 manual_allreduce.py   (or plain python, which spawns two processes)
"""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

WORLD = 2
GLOBAL_BATCH = 64
STEPS = 120
LR = 0.1
MOMENTUM = 0.9
PORT = "29675"
LOG_EVERY = 30


def spirals(n, turns=1.5, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    r = torch.rand(n, generator=g)
    ang = turns * 6.2832 * r + y * 2.0944 + 0.15 * torch.randn(n, generator=g)
    return torch.stack([r * ang.cos(), r * ang.sin()], 1) * 2, y


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.a = nn.Linear(2, width)
        self.b = nn.Linear(width, width)
        self.c = nn.Linear(width, 3)

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


def broadcast_parameters(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)


def average_gradients(model):
    world = dist.get_world_size()
    for p in model.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)


def reduce_mean(value):
    t = torch.tensor([value])
    dist.all_reduce(t)
    return (t / dist.get_world_size()).item()


def train():
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    x, y = spirals(1200)
    model = Net()
    broadcast_parameters(model)
    opt = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    index_gen = torch.Generator().manual_seed(42)          # same on all ranks
    local = GLOBAL_BATCH // world

    model.train()
    for step in range(1, STEPS + 1):
        idx = torch.randint(0, len(x), (GLOBAL_BATCH,), generator=index_gen)
        mine = idx[rank * local:(rank + 1) * local]
        loss = F.cross_entropy(model(x[mine]), y[mine])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        average_gradients(model)
        opt.step()
        mean_loss = reduce_mean(loss.item())
        if rank == 0 and step % LOG_EVERY == 0:
            print(f"step {step} loss {mean_loss:.4f}", flush=True)

    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    if rank == 0:
        print(f"final accuracy {acc:.3f}", flush=True)


def worker(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=PORT, RANK=str(rank), WORLD_SIZE=str(WORLD))
    main_process()


def main_process():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    try:
        train()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main_process()
    else:
        mp.spawn(worker, nprocs=WORLD)
