"""Surrogate model for an energy function, trained on several processes (mp.spawn + DDP).

The validation set is shared out between the ranks. When the validation loss stops getting
better for `patience` epochs the learning rate is halved.
"""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def energy(x):
    # rugged landscape: quadratic bowl with ripples and pair terms
    pair = (x[:, :-1] * x[:, 1:]).sum(1)
    return 0.5 * (x ** 2).sum(1) + torch.cos(3 * x).sum(1) + 0.3 * pair


def make_sets(n_train, n_val, dim):
    g = torch.Generator().manual_seed(1234)
    x = torch.randn(n_train + n_val, dim, generator=g)
    y = energy(x) + 0.3 * torch.randn(n_train + n_val, generator=g)
    mean, std = y[:n_train].mean(), y[:n_train].std()
    y = (y - mean) / std
    return TensorDataset(x[:n_train], y[:n_train]), (x[n_train:], y[n_train:])


def build(dim, width):
    return nn.Sequential(
        nn.Linear(dim, width), nn.SiLU(),
        nn.Linear(width, width), nn.SiLU(),
        nn.Linear(width, width), nn.SiLU(),
        nn.Linear(width, 1),
    )


def val_loss(model, x, y):
    model.eval()
    with torch.no_grad():
        se = torch.zeros(2, device=x.device)
        for xb, yb in zip(x.split(512), y.split(512)):
            se[0] += ((model(xb).squeeze(1) - yb) ** 2).sum()
            se[1] += len(yb)
    dist.all_reduce(se)
    model.train()
    return (se[0] / se[1]).item()


def worker(rank, world, port, args):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    use_cuda = torch.cuda.is_available() and torch.cuda.device_count() >= world
    dist.init_process_group("nccl" if use_cuda else "gloo", rank=rank, world_size=world)
    device = torch.device("cuda", rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed)

    train, (xv, yv) = make_sets(args.n_train, args.n_val, args.dim)
    xv, yv = xv[rank::world].to(device), yv[rank::world].to(device)
    sampler = DistributedSampler(train, num_replicas=world, rank=rank, shuffle=True)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler, drop_last=True)

    net = build(args.dim, args.width).to(device)
    model = DDP(net, device_ids=[rank] if use_cuda else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        opt, mode="min", factor=0.5, patience=args.patience, min_lr=1e-6)

    best = float("inf")
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total, n = 0.0, 0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(model(x).squeeze(1), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item()
            n += 1

        v = val_loss(net, xv, yv)
        plateau.step(v)
        if rank == 0:
            print(f"epoch {epoch:3d} train {total / n:.5f} val {v:.5f} lr {opt.param_groups[0]['lr']:.2e}", flush=True)
            if v < best:
                best = v
                torch.save(net.state_dict(), args.out)

    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--world", type=int, default=2)
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--batch_size", type=int, default=128)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--n_train", type=int, default=20000)
    p.add_argument("--n_val", type=int, default=2000)
    p.add_argument("--dim", type=int, default=12)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="energy.pt")
    args = p.parse_args()
    mp.spawn(worker, args=(args.world, free_port(), args), nprocs=args.world, join=True)
