"""Convolutional autoencoder on generated textures, DDP via torch.multiprocessing.spawn."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def textures(n, g, size=24):
    t = torch.linspace(0, 6.28, size)
    y, x = torch.meshgrid(t, t, indexing="ij")
    f = 0.5 + 2 * torch.rand(n, 2, 1, 1, generator=g)
    p = 6.28 * torch.rand(n, 1, 1, generator=g)
    img = torch.sin(f[:, 0] * x + f[:, 1] * y + p)
    return img.unsqueeze(1)


class AutoEncoder(nn.Module):
    def __init__(self, w=12, code=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, w, 3, 2, 1), nn.ReLU(), nn.Conv2d(w, w, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                                 nn.Linear(36 * w, code))
        self.dec = nn.Sequential(nn.Linear(code, 36 * w), nn.Unflatten(1, (w, 6, 6)), nn.ReLU(),
                                 nn.ConvTranspose2d(w, w, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(w, 1, 4, 2, 1))

    def forward(self, x):
        return self.dec(self.enc(x))


def worker(rank, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ["MASTER_PORT"] = str(args.port)
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=args.world)
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DDP(AutoEncoder().to(device), device_ids=[rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    g = torch.Generator().manual_seed(1 + rank)

    for step in range(1, args.steps + 1):
        x = textures(args.batch, g).to(device)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        if rank == 0:
            if step % args.log_every == 0:
                print(f"step {step}: mse {loss.item():.4f} norm {norm.item():.4f}", flush=True)
        optimizer.step()

    check = torch.stack([p.detach().abs().sum() for p in model.parameters()]).sum()
    if rank == 0:
        print(f"done, weight sum {check.item():.4f}", flush=True)
        torch.save(model.module.state_dict(), "autoencoder.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--world", type=int, default=torch.cuda.device_count() or 2)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--clip", type=float, default=0.02)
    ap.add_argument("--log-every", type=int, default=15)
    args = ap.parse_args()
    args.port = free_port()
    mp.spawn(worker, args=(args,), nprocs=args.world)
