"""Data-parallel training of an MLP-mixer-like model on synthetic sequences.

single process:  python ddp_train.py
several:         torchrun --nproc_per_node=2 ddp_train.py
"""
import argparse
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29531")
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        return torch.device("cuda", local_rank)
    return torch.device("cpu")


def is_main():
    return dist.get_rank() == 0


def make_data(n, seed, length=16, dim=8):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, length, dim, generator=g)
    w = torch.randn(length, dim, generator=torch.Generator().manual_seed(99))
    score = (x * w).sum((1, 2)) / (length * dim) ** 0.5 + 0.5 * x[:, 0].mul(x[:, -1]).mean(-1)
    y = torch.bucketize(score, torch.tensor([-0.6, 0.0, 0.6]))
    return TensorDataset(x, y)


class MixerBlock(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(length, 2 * length), nn.GELU(), nn.Linear(2 * length, length))
        self.channel = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.token(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, length=16, d_in=8, dim=32, depth=2, classes=4):
        super().__init__()
        self.inp = nn.Linear(d_in, dim)
        self.blocks = nn.Sequential(*[MixerBlock(length, dim) for _ in range(depth)])
        self.head = nn.Linear(length * dim, classes)

    def forward(self, x):
        return self.head(self.blocks(self.inp(x)).flatten(1))


@torch.no_grad()
def evaluate(model, dataset, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    idx = range(dist.get_rank(), len(dataset), dist.get_world_size())
    x, y = dataset[list(idx)]
    x, y = x.to(device), y.to(device)
    stats[0] = (model.module(x).argmax(1) == y).sum()
    stats[1] = len(y)
    dist.all_reduce(stats)
    model.train()
    return (stats[0] / stats[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32, help="per process")
    parser.add_argument("--grad-accum", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--warmup", type=int, default=10, help="in updates")
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--train-size", type=int, default=2048)
    parser.add_argument("--ckpt", default="ddp_ckpt.pt")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()

    device = setup()
    torch.manual_seed(0)
    train_set, val_set = make_data(args.train_size, 1), make_data(512, 2)
    sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler, drop_last=True)

    model = DDP(Mixer().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda u: min(1.0, (u + 1) / args.warmup))
    start = 0
    if args.resume and os.path.exists(args.ckpt):
        state = torch.load(args.ckpt, map_location=device)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        start = state["epoch"] + 1

    usable = len(loader) - len(loader) % args.grad_accum
    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        running = torch.zeros(1, device=device)
        for step, (x, y) in enumerate(loader):
            if step == usable:
                break
            x, y = x.to(device), y.to(device)
            boundary = (step + 1) % args.grad_accum == 0
            sync = contextlib.nullcontext() if step % args.grad_accum == 0 else model.no_sync()
            with sync:
                loss = F.cross_entropy(model(x), y)
                (loss / args.grad_accum).backward()
            running += loss.detach()
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                scheduler.step()
        dist.all_reduce(running)
        acc = evaluate(model, val_set, device)
        if is_main():
            print(f"epoch {epoch} loss {running.item() / usable / dist.get_world_size():.4f} val acc {acc:.3f} "
                  f"lr {scheduler.get_last_lr()[0]:.2e}", flush=True)
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(), "epoch": epoch}, args.ckpt)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
