#!/usr/bin/env python
# Glyph classifier, DDP over gloo. Run it under torchrun, or just `python`: then it starts its own 2 ranks.
import argparse
import contextlib
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

HERE = os.path.dirname(os.path.abspath(__file__))


class GlyphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(16 * 9, 5)

    def forward(self, x, y=None):
        logits = self.fc(self.features(x).flatten(1))
        if y is None:
            return logits
        return nn.functional.cross_entropy(logits, y, label_smoothing=0.05)


def load():
    x = np.load(os.path.join(HERE, "data", "glyphs.npy"))
    y = np.load(os.path.join(HERE, "data", "glyphs_y.npy"))
    x = torch.from_numpy(x).float().div_(255).sub_(0.5).unsqueeze(1)
    return TensorDataset(x, torch.from_numpy(y))


def micro_loss(net, batch, quiet):
    """loss of one micro batch; `quiet` = this one does not communicate"""
    x, y = batch
    with net.no_sync() if quiet else contextlib.nullcontext():
        loss = net(x, y)
        yield loss


def run(args):
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    net = DDP(GlyphNet())
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    data = load()
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, drop_last=True)
    updates = len(loader) // args.accum
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=updates * args.epochs)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        it = iter(loader)
        tot = 0.0
        for _ in range(updates):                      # what does not fill a window is left out
            for left in reversed(range(args.accum)):
                # the generator keeps no_sync open until the backward is through
                for loss in micro_loss(net, next(it), quiet=left > 0):
                    (loss / args.accum).backward()
                    tot += loss.item() / (updates * args.accum)
            gn = nn.utils.clip_grad_norm_(net.parameters(), args.clip)
            opt.step()
            sched.step()
            opt.zero_grad()
        if rank == 0:
            print(f"[{epoch}] loss {tot:.4f} |g| {gn:.3f} lr {sched.get_last_lr()[0]:.5f}", flush=True)

    with torch.no_grad():
        s = sum(p.double().abs().sum() for p in net.parameters())
    if rank == 0:
        print("checksum %.6f" % s)
    dist.destroy_process_group()


def _child(rank, args, world):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(args.port))
    torch.set_num_threads(1)
    run(args)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch", type=int, default=12)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=3)
    ap.add_argument("--port", type=int, default=29623)
    a = ap.parse_args()
    if "RANK" in os.environ:
        run(a)
    else:
        torch.multiprocessing.spawn(_child, args=(a, 2), nprocs=2)
