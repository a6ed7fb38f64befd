"""Keyword spotting on two CPU workers.

    torchrun --standalone --nproc-per-node=2 <file> --epochs 3
"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class FakeCommands(Dataset):
    """Tones with noise, stands for log-mel features [40, 20]."""

    def __init__(self, n=192, seed=5):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 5, (n,), generator=g)
        self.x = torch.randn(n, 40, 20, generator=g)
        for i, c in enumerate(self.y.tolist()):
            self.x[i, 8 * c:8 * c + 4] += 0.8

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class KWS(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.conv = nn.Conv1d(40, 24, 3, padding=1)
        self.rnn = nn.GRU(24, 24, batch_first=True)
        self.out = nn.Linear(24, n_classes)

    def forward(self, x):
        h = F.relu(self.conv(x)).transpose(1, 2)
        _, last = self.rnn(h)
        return self.out(last[0])

    def loss(self, x, y):
        return F.cross_entropy(self(x), y)


def run_epoch(model, loader, opt, clip):
    model.train()
    total, n = 0.0, 0
    for x, y in loader:
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        opt.step()
        total += loss.item() * len(y)
        n += len(y)
    stat = torch.tensor([total, float(n)])
    dist.all_reduce(stat)
    return (stat[0] / stat[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--clip", type=float, default=1.0)
    args = p.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)

    ds = FakeCommands()
    sampler = DistributedSampler(ds, shuffle=True, seed=1)
    loader = DataLoader(ds, batch_size=args.batch_size, sampler=sampler)
    model = DDP(KWS())
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = run_epoch(model, loader, opt, args.clip)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.5f}")

    if rank == 0:
        model.module.eval()
        with torch.no_grad():
            acc = (model.module(ds.x).argmax(1) == ds.y).float().mean()
        print(f"train acc {acc:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
