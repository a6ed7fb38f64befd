"""Distributed training with gradient accumulation.

    python train.py --world-size 2 --accum 4
"""
import argparse
import contextlib
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Spirals(Dataset):
    """K interleaved spirals lifted to `dim` dimensions."""

    def __init__(self, n, k=4, dim=12, noise=0.08, seed=0):
        g = torch.Generator().manual_seed(seed)
        basis = torch.linalg.qr(torch.randn(dim, dim, generator=torch.Generator().manual_seed(0)))[0][:2]
        self.y = torch.randint(k, (n,), generator=g)
        r = torch.rand(n, generator=g) * 0.9 + 0.1
        theta = 3.5 * r + self.y * (2 * torch.pi / k)
        pts = torch.stack([r * theta.cos(), r * theta.sin()], 1)
        pts = pts + noise * r[:, None] * torch.randn(n, 2, generator=g)
        self.x = 2 * pts @ basis + 0.02 * torch.randn(n, dim, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build_model(dim=12, hidden=64, k=4):
    return nn.Sequential(
        nn.Linear(dim, hidden), nn.SiLU(),
        nn.Linear(hidden, hidden), nn.SiLU(),
        nn.Linear(hidden, k),
    )


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def evaluate(model, dataset):
    model.eval()
    with torch.no_grad():
        acc = (model(dataset.x).argmax(1) == dataset.y).float().mean().item()
    model.train()
    return acc


def train(rank, args, port):
    setup(rank, args.world_size, port)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    train_set, val_set = Spirals(args.n_train, seed=1), Spirals(1000, seed=2)
    sampler = DistributedSampler(train_set, num_replicas=args.world_size, rank=rank,
                                 shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    updates_per_epoch = len(loader) // args.accum

    model = DDP(build_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=updates_per_epoch * args.epochs)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        running = torch.zeros(2)
        optimizer.zero_grad()
        for i, (x, y) in enumerate(loader):
            if i >= updates_per_epoch * args.accum:
                break
            last_micro = (i + 1) % args.accum == 0
            ctx = contextlib.nullcontext() if last_micro else model.no_sync()
            with ctx:
                loss = criterion(model(x), y)
                (loss / args.accum).backward()
            running += torch.tensor([loss.item(), 1.0])
            if last_micro:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()

        dist.all_reduce(running)
        if rank == 0:
            acc = evaluate(model.module, val_set)
            print(f"epoch {epoch:2d} loss {running[0] / running[1]:.4f} val_acc {acc:.4f}", flush=True)
        dist.barrier()

    if rank == 0:
        os.makedirs(args.out, exist_ok=True)
        torch.save(model.module.state_dict(), os.path.join(args.out, "model.pt"))
    dist.barrier()
    del model
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--world-size", type=int, default=2)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--n-train", type=int, default=4096)
    p.add_argument("--lr", type=float, default=0.3)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="runs/ddp")
    args = p.parse_args()

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(train, args=(args, port), nprocs=args.world_size, join=True)


if __name__ == "__main__":
    main()
