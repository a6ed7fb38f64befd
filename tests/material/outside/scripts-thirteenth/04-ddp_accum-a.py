"""DDP regression with gradient accumulation, 2 gloo processes started by mp.spawn."""
import argparse
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--world-size", type=int, default=2)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--save", default="")
    p.add_argument("--port", default="29641")
    return p.parse_args()


def friedman(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 10, generator=g)
    y = 10 * torch.sin(3.1416 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = (y - y.mean()) / y.std()
    return TensorDataset(x, y.unsqueeze(1))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def train_epoch(model, loader, optimizer, loss_fn, accum):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(2)
    for i, (x, y) in enumerate(loader):
        boundary = (i + 1) % accum == 0
        ctx = model.no_sync() if boundary else nullcontext()
        with ctx:
            loss = loss_fn(model(x), y)
            (loss / accum).backward()
        total += torch.tensor([loss.item(), 1.0])
        if boundary:
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def worker(rank, args):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = args.port
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=args.world_size)
    torch.manual_seed(0)

    data = friedman(1024)
    sampler = DistributedSampler(data, num_replicas=args.world_size, rank=rank, shuffle=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler)
    assert len(loader) % args.accum == 0, "choose accum so that it divides the epoch"

    model = DDP(MLP())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer, nn.MSELoss(), args.accum)
        if rank == 0:
            print(f"epoch {epoch}: mse {loss:.4f}", flush=True)
    if rank == 0 and args.save:
        torch.save(model.module.state_dict(), args.save)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    a = get_args()
    mp.spawn(worker, args=(a,), nprocs=a.world_size, join=True)
