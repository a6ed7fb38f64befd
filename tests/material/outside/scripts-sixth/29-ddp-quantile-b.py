"""Distributed quantile regression (P10/P50/P90) of delivery times.

    torchrun --nproc_per_node=4 quantiles.py

Every epoch reshuffles the whole table before it is split over the ranks.
"""
import argparse
import os
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

QUANTILES = (0.1, 0.5, 0.9)


class QuantileNet(nn.Module):
    def __init__(self, features, stations=40, dim=64):
        super().__init__()
        self.station = nn.Embedding(stations, 8)
        self.body = nn.Sequential(nn.Linear(features + 8, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
        self.base = nn.Linear(dim, 1)
        self.gaps = nn.Linear(dim, len(QUANTILES) - 1)

    def forward(self, x, s):
        h = self.body(torch.cat([x, self.station(s)], 1))
        gaps = nn.functional.softplus(self.gaps(h))
        return torch.cat([self.base(h), self.base(h) + gaps.cumsum(1)], 1)


def pinball(pred, y):
    q = torch.tensor(QUANTILES, device=pred.device)
    err = y[:, None] - pred
    return torch.maximum(q * err, (q - 1) * err).mean()


def load(path):
    if os.path.exists(path):
        z = np.load(path)
        return torch.from_numpy(z["x"]).float(), torch.from_numpy(z["station"]).long(), torch.from_numpy(z["y"]).float()
    g = torch.Generator().manual_seed(0)
    x, s = torch.randn(8000, 6, generator=g), torch.randint(0, 40, (8000,), generator=g)
    y = 2 + x[:, 0] + 0.1 * s + (0.2 + x[:, 1].abs()) * torch.randn(8000, generator=g)
    return x, s, y


def coverage(model, x, s, y, rank, world, device):
    model.eval()
    with torch.no_grad():
        pred = model(x[rank::world].to(device), s[rank::world].to(device))
        target = y[rank::world].to(device)
        inside = ((target >= pred[:, 0]) & (target <= pred[:, 2])).float().sum()
        stats = torch.stack([inside, pinball(pred, target) * len(target), torch.tensor(float(len(target)), device=device)])
    dist.all_reduce(stats)
    model.train()
    return (stats[0] / stats[2]).item(), (stats[1] / stats[2]).item()


def run(args):
    rank, world, local = dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device(f"cuda:{local}") if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed)
    x, s, y = load(args.table)
    cut = int(0.9 * len(x))
    train = TensorDataset(x[:cut], s[:cut], y[:cut])
    sampler = DistributedSampler(train, num_replicas=world, rank=rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(train, args.batch, sampler=sampler, drop_last=True)

    net = QuantileNet(x.size(1)).to(device)
    model = DistributedDataParallel(net, device_ids=[local] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(loader))
    for epoch in range(args.epochs):
        model.train()
        for xb, sb, yb in loader:
            xb, sb, yb = xb.to(device), sb.to(device), yb.to(device)
            loss = pinball(model(xb, sb), yb)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
        cover, pin = coverage(net, x[cut:], s[cut:], y[cut:], rank, world, device)
        if rank == 0:
            print(f"epoch {epoch} pinball {pin:.4f} P10-P90 coverage {cover:.3f}", flush=True)
    if rank == 0:
        torch.save(net.state_dict(), args.out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--table", default="deliveries.npz")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=9)
    p.add_argument("--out", default="quantiles.pt")
    args = p.parse_args()
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="localhost", MASTER_PORT="29611")
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", timeout=timedelta(minutes=5))
    try:
        run(args)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
