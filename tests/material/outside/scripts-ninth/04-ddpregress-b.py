"""Household energy demand regression, DDP.

torchrun --nproc_per_node=4 train_ddp.py --csv energy.csv --accum 4
"""
import argparse
import contextlib
import logging
import os

import numpy as np
import pandas as pd
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

log = logging.getLogger("energy")


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--target", default="kwh")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch-size", type=int, default=128, help="per GPU micro batch")
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--hidden", type=int, default=256)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--ckpt", default="energy.pt")
    return ap.parse_args()


def load(csv, target):
    df = pd.read_csv(csv).dropna()
    y = df.pop(target).to_numpy(np.float32)
    x = df.to_numpy(np.float32)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(x))
    cut = int(0.85 * len(x))
    tr, va = order[:cut], order[cut:]
    mu, sd = x[tr].mean(0), x[tr].std(0) + 1e-6
    ymu, ysd = y[tr].mean(), y[tr].std() + 1e-6
    x = (x - mu) / sd
    y = (y - ymu) / ysd
    mk = lambda ix: TensorDataset(torch.from_numpy(x[ix]), torch.from_numpy(y[ix]))
    return mk(tr), mk(va), x.shape[1], float(ysd)


class MLP(nn.Module):
    def __init__(self, d_in, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_in, hidden), nn.LayerNorm(hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.GELU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    acc = torch.zeros(2, device=device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        acc[0] += (net(x) - y).abs().sum()
        acc[1] += y.numel()
    net.train()
    return (acc[0] / acc[1]).item()


def main():
    args = parse_args()
    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    if use_cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")

    torch.manual_seed(17)
    train_set, val_set, d_in, y_scale = load(args.csv, args.target)
    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, drop_last=True)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=1024)

    model = DDP(MLP(d_in, args.hidden).to(device), device_ids=[local_rank] if use_cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    updates_per_epoch = len(loader) // args.accum
    if updates_per_epoch == 0:
        raise SystemExit("not enough data for one update")
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr,
                                                    total_steps=updates_per_epoch * args.epochs)
    criterion = nn.SmoothL1Loss()

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros((), device=device)
        usable = updates_per_epoch * args.accum
        for i, (x, y) in enumerate(loader):
            if i >= usable:
                break
            x, y = x.to(device), y.to(device)
            boundary = (i + 1) % args.accum == 0
            ctx = model.no_sync() if boundary else contextlib.nullcontext()
            with ctx:
                loss = criterion(model(x), y)
                (loss / args.accum).backward()
            total += loss.detach()
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)

        dist.all_reduce(total)
        if rank == 0:
            mae = evaluate(model.module, val_loader, device) * y_scale
            log.info("epoch %d loss %.4f val MAE %.4f lr %.2e", epoch,
                     total.item() / (usable * world), mae, scheduler.get_last_lr()[0])
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, args.ckpt)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
