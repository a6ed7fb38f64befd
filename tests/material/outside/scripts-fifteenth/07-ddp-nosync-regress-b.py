"""Two gloo workers, gradient accumulation with no_sync.

    python 07-...py --world 2 --accum 3
"""
import argparse
import contextlib
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def toy(n=360):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 6, generator=g)
    y = (x[:, :1] * x[:, 1:2]).tanh() + 0.5 * x[:, 2:3]
    return TensorDataset(x, y)


def worker(rank, args, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=args.world)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ds = toy()
    sampler = DistributedSampler(ds, args.world, rank, shuffle=True, seed=0)
    loader = DataLoader(ds, batch_size=15, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    n = len(loader)
    assert n % args.accum == 0, "pick an accum that divides the number of batches"

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = 0.0
        opt.zero_grad()
        for i, (x, y) in enumerate(loader):
            boundary = (i + 1) % args.accum == 0
            ctx = contextlib.nullcontext() if i % args.accum == 0 else model.no_sync()
            with ctx:
                loss = nn.functional.mse_loss(model(x), y)
                (loss / args.accum).backward()
            total += loss.item()
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                opt.step()
                opt.zero_grad()
        t = torch.tensor([total / n])
        dist.all_reduce(t)
        if rank == 0 and epoch % 2 == 1:
            print(f"epoch {epoch} loss {t.item() / args.world:.4f}", flush=True)

    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    print(f"rank {rank} checksum {flat.double().sum().item():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--world", type=int, default=2)
    ap.add_argument("--accum", type=int, default=3)
    ap.add_argument("--epochs", type=int, default=5)
    args = ap.parse_args()
    mp.start_processes(worker, args=(args, free_port()), nprocs=args.world, start_method="fork")
