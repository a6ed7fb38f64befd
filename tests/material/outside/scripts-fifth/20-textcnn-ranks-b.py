"""
Order-of-words TextCNN, data parallel over processes.

    torchrun --nproc_per_node 2 train_textcnn.py --epochs 5
"""
import argparse
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def get_rank_info():
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class TextCNN(nn.Module):
    def __init__(self, vocab, dim=100, channels=64, kernels=(3, 4, 5), classes=2, drop=0.3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, channels, k, padding=k // 2) for k in kernels])
        self.drop = nn.Dropout(drop)
        self.fc = nn.Linear(channels * len(kernels), classes)

    def forward(self, x):
        e = self.emb(x).transpose(1, 2)
        h = torch.cat([F.relu(c(e)).amax(-1) for c in self.convs], 1)
        return self.fc(self.drop(h))


def corpus(n, vocab, length, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(10, vocab, (n, length))
    y = rng.integers(0, 2, n)
    pos = rng.integers(0, length - 1, n)
    rows = np.arange(n)
    x[rows, pos] = np.where(y == 1, 2, 3)
    x[rows, pos + 1] = np.where(y == 1, 3, 2)
    return torch.as_tensor(x), torch.as_tensor(y)


class ShardedBatches:
    def __init__(self, n, batch, rank, world, seed):
        self.n, self.batch, self.rank, self.world, self.seed = n, batch, rank, world, seed

    def epoch(self, e):
        perm = torch.randperm(self.n, generator=torch.Generator().manual_seed(self.seed + e))
        step = self.batch * self.world
        for s in range(0, self.n - step + 1, step):
            yield perm[s + self.rank * self.batch:s + (self.rank + 1) * self.batch]


def sync_gradients(model, world):
    if world == 1:
        return
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= world


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--samples", type=int, default=8000)
    ap.add_argument("--vocab", type=int, default=2000)
    ap.add_argument("--length", type=int, default=60)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=1234)
    args = ap.parse_args()

    rank, world, local = get_rank_info()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if world > 1:
        dist.init_process_group("nccl" if cuda else "gloo")
    set_seed(args.seed + rank)  # different dropout on every rank
    model = TextCNN(args.vocab).to(device)
    if world > 1:
        for t in model.state_dict().values():
            dist.broadcast(t, src=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    x, y = corpus(args.samples, args.vocab, args.length, 0)
    xv, yv = corpus(1000, args.vocab, args.length, 1)
    batches = ShardedBatches(len(x), args.batch_size, rank, world, args.seed)

    for epoch in range(args.epochs):
        model.train()
        total = n = 0
        for idx in batches.epoch(epoch):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx].to(device)), y[idx].to(device))
            loss.backward()
            sync_gradients(model, world)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
            n += 1
        if rank == 0:
            model.eval()
            with torch.no_grad():
                acc = (model(xv.to(device)).argmax(1).cpu() == yv).float().mean().item()
            print(f"epoch {epoch} loss {total / max(1, n):.4f} val {acc:.4f}", flush=True)
            torch.save(model.state_dict(), "textcnn.pt")
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
