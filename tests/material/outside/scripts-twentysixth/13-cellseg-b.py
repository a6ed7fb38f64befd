"""Segment cells with a small U-Net on two processes (mp.spawn, gloo).

The archive holds `images` (n, 32, 32) uint8 and `masks` (n, 32, 32) uint8 in {0, 1}.
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


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, w=8):
        super().__init__()
        self.d1, self.d2, self.mid = conv(1, w), conv(w, 2 * w), conv(2 * w, 4 * w)
        self.u2, self.u1 = conv(6 * w, 2 * w), conv(3 * w, w)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, scale_factor=2), a], 1))
        return self.out(a)


def load(path):
    with np.load(path) as z:
        x = torch.from_numpy(z["images"]).float().div(127.5).sub(1).unsqueeze(1)
        y = torch.from_numpy(z["masks"]).float().unsqueeze(1)
    cut = int(0.85 * len(x))
    return TensorDataset(x[:cut], y[:cut]), (x[cut:], y[cut:])


def seg_loss(logit, mask):
    p = logit.sigmoid()
    inter = (p * mask).sum(dim=(1, 2, 3))
    dice = 1 - (2 * inter + 1) / (p.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logit, mask) + dice.mean()


@torch.no_grad()
def iou(model, x, y):
    model.eval()
    p = model(x) > 0
    m = y > 0.5
    return ((p & m).sum() / (p | m).sum().clamp(min=1)).item()


def train_epoch(model, loader, opt, accum, clip):
    model.train()
    n = len(loader)
    total = 0.0
    for i, (x, y) in enumerate(loader):
        done = (i + 1) % accum == 0 or i + 1 == n
        size = min(accum, n - (i // accum) * accum)
        with contextlib.nullcontext() if done else model.no_sync():
            loss = seg_loss(model(x), y)
            (loss / size).backward()
        total += loss.item()
        if done:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            opt.zero_grad(set_to_none=True)
    return total / n


def worker(rank, world, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(args.port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    train_set, (xv, yv) = load(args.data)
    sampler = DistributedSampler(train_set, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)
    model = DDP(UNet())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = torch.tensor(train_epoch(model, loader, opt, args.accum, args.clip))
        sched.step()
        dist.all_reduce(loss)
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item() / world:.4f} iou {iou(model.module, xv, yv):.3f}", flush=True)
        dist.barrier()

    if rank == 0 and args.out:
        torch.save(model.module.state_dict(), args.out)
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/cells.npz")
    ap.add_argument("--world", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--port", type=int, default=29641)
    ap.add_argument("--out", default="")
    args = ap.parse_args()
    mp.spawn(worker, args=(args.world, args), nprocs=args.world, join=True)


if __name__ == "__main__":
    main()
