"""Plant species classifier, one process per GPU (or two CPU processes with gloo).

    python train.py --data plants.npz
The npz holds x_train (N,H,W,3 uint8), y_train, x_val, y_val.
"""
import argparse
import contextlib
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.c2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.b1, self.b2 = nn.GroupNorm(4, o), nn.GroupNorm(4, o)
        self.skip = nn.Identity() if i == o and stride == 1 else nn.Conv2d(i, o, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        return F.relu(self.b2(self.c2(y)) + self.skip(x))


def build(width, classes):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, 1, 1), Residual(width, width, 1), Residual(width, 2 * width, 2),
        Residual(2 * width, 4 * width, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes))


def tensors(blob, split):
    x = torch.from_numpy(blob[f"x_{split}"]).permute(0, 3, 1, 2).float().div(255).sub(0.5).div(0.25)
    return TensorDataset(x, torch.from_numpy(blob[f"y_{split}"]).long())


def setup(rank, world, port):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", rank=rank, world_size=world)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    for x, y in loader:
        pred = model(x.to(device)).argmax(1)
        stats[0] += (pred == y.to(device)).sum()
        stats[1] += len(y)
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def worker(rank, world, args):
    setup(rank, world, args.port)
    torch.manual_seed(args.seed)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    blob = np.load(args.data)
    train, val = tensors(blob, "train"), tensors(blob, "val")
    sampler = DistributedSampler(train, world, rank, shuffle=True, drop_last=True, seed=args.seed)
    train_loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(val, args.batch_size, sampler=DistributedSampler(val, world, rank, shuffle=False))

    model = build(args.width, int(blob["y_train"].max()) + 1).to(device)
    model = DDP(model, device_ids=[rank] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    windows = len(train_loader) // args.accum
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * windows)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros((), device=device)
        for i, (x, y) in enumerate(train_loader):
            if i >= windows * args.accum:
                break
            last = (i + 1) % args.accum == 0
            context = contextlib.nullcontext() if i % args.accum == 0 else model.no_sync()
            with context:
                loss = F.cross_entropy(model(x.to(device)), y.to(device), label_smoothing=0.1)
                (loss / args.accum).backward()
            total += loss.detach()
            if last:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                scheduler.step()
        dist.all_reduce(total)
        acc = validate(model, val_loader, device)
        if rank == 0:
            mean = total.item() / (world * windows * args.accum)
            print(f"epoch {epoch} loss {mean:.4f} val acc {acc:.4f}", flush=True)
            torch.save(model.module.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="plants.npz")
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--port", type=int, default=29533)
    p.add_argument("--out", default="plants.pt")
    args = p.parse_args()
    world = max(2, torch.cuda.device_count())
    mp.spawn(worker, args=(world, args), nprocs=world)


if __name__ == "__main__":
    main()
