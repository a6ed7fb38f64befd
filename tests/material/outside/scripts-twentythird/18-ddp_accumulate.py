"""Data-parallel training with gradient accumulation.

    torchrun --nproc_per_node=2 18-ddp_accumulate.py

Uses NCCL when every rank has a GPU, gloo otherwise; runs as a single process without torchrun.
"""
import argparse
import contextlib
import os
import socket

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def setup():
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    local_rank = int(os.environ["LOCAL_RANK"])
    use_cuda = torch.cuda.is_available() and torch.cuda.device_count() > local_rank
    dist.init_process_group("nccl" if use_cuda else "gloo")
    if use_cuda:
        torch.cuda.set_device(local_rank)
        return torch.device("cuda", local_rank)
    return torch.device("cpu")


def make_dataset(n=1024, n_in=20, n_classes=5):
    g = torch.Generator().manual_seed(123)
    x = torch.randn(n, n_in, generator=g)
    w1 = torch.randn(n_in, 16, generator=g)
    w2 = torch.randn(16, n_classes, generator=g)
    return TensorDataset(x, (torch.tanh(x @ w1 / 3) @ w2).argmax(1))


def train_epoch(model, loader, optimizer, accum, device):
    model.train()
    total = torch.zeros(2, device=device)
    optimizer.zero_grad(set_to_none=True)
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        update = (step + 1) % accum == 0
        # all-reduce only once for each optimizer step
        sync = contextlib.nullcontext() if update else model.no_sync()
        with sync:
            loss = F.cross_entropy(model(x), y)
            (loss / accum).backward()
        if update:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        total += torch.tensor([loss.item() * len(x), len(x)], device=device)
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=16, help="per process and micro-step")
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.2)
    args = ap.parse_args()

    device = setup()
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)

    dataset = make_dataset()
    sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)
    loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    assert len(loader) % args.accum == 0, "choose an accumulation that divides the number of batches"

    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5)).to(device)
    model = DDP(net, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer, args.accum, device)
        scheduler.step()
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f} (world size {world})", flush=True)

    checksum = sum(p.detach().double().sum() for p in net.parameters()).item()
    print(f"rank {rank}: parameter checksum {checksum:.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
