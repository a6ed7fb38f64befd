"""Two-tower retrieval (query -> product title), trained from a click log.

clicks.csv with the columns query,title; started as  torchrun --nproc_per_node=N train.py
or simply  python train.py,  which spawns two processes itself.
"""
import argparse
import csv
import os
import zlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def tokens(text, buckets):
    words = text.lower().split() or ["<empty>"]
    grams = words + [a + "_" + b for a, b in zip(words, words[1:])]
    return [zlib.crc32(g.encode()) % buckets for g in grams]


class Clicks(Dataset):
    def __init__(self, rows, buckets):
        self.rows, self.buckets = rows, buckets

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        q, t = self.rows[i]
        return tokens(q, self.buckets), tokens(t, self.buckets)


def pack(seqs):
    flat = torch.tensor([t for s in seqs for t in s])
    sizes = torch.tensor([0] + [len(s) for s in seqs[:-1]])
    return flat, sizes.cumsum(0)


def collate(batch):
    q, t = zip(*batch)
    return (*pack(q), *pack(t))


class Tower(nn.Module):
    def __init__(self, buckets, dim):
        super().__init__()
        self.emb = nn.EmbeddingBag(buckets, dim, mode="mean")
        self.net = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, flat, offsets):
        e = self.emb(flat, offsets)
        return F.normalize(e + self.net(e), dim=1)


class TwoTower(nn.Module):
    def __init__(self, buckets, dim):
        super().__init__()
        self.query, self.title = Tower(buckets, dim), Tower(buckets, dim)
        self.log_scale = nn.Parameter(torch.tensor(2.5))

    def forward(self, qf, qo, tf, to):
        q, t = self.query(qf, qo), self.title(tf, to)
        logits = self.log_scale.exp().clamp(max=100) * q @ t.T
        target = torch.arange(len(q), device=q.device)
        return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target))


@torch.no_grad()
def recall(net, loader, device, k=10):
    net.eval()
    qs, ts = [], []
    for qf, qo, tf, to in loader:
        qs.append(net.query(qf.to(device), qo.to(device)))
        ts.append(net.title(tf.to(device), to.to(device)))
    q, t = torch.cat(qs), torch.cat(ts)
    top = (q @ t.T).topk(min(k, len(t)), dim=1).indices
    return (top == torch.arange(len(q), device=device)[:, None]).any(1).float().mean().item()


def run(rank, world, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(args.port))
    cuda = torch.cuda.is_available() and torch.cuda.device_count() >= world
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=world)
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    torch.manual_seed(0)

    with open(args.clicks, newline="", encoding="utf-8") as f:
        rows = [(r["query"], r["title"]) for r in csv.DictReader(f)]
    n_val = min(2000, len(rows) // 10)
    train_set, val_set = Clicks(rows[n_val:], args.buckets), Clicks(rows[:n_val], args.buckets)
    sampler = DistributedSampler(train_set, world, rank, drop_last=True)
    train = DataLoader(train_set, args.batch, sampler=sampler, drop_last=True, collate_fn=collate)
    val = DataLoader(val_set, args.batch, collate_fn=collate)

    model = DDP(TwoTower(args.buckets, args.dim).to(device), device_ids=[rank] if cuda else None)
    net = model.module
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros((), device=device)
        for batch in train:
            batch = [b.to(device) for b in batch]
            loss = net(*batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            r = recall(net, val, device)
            print(f"epoch {epoch} loss {total.item() / (world * len(train)):.4f} recall@10 {r:.4f}", flush=True)
            torch.save(net.state_dict(), args.out)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--clicks", default="clicks.csv")
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--buckets", type=int, default=200000)
    ap.add_argument("--dim", type=int, default=128)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--port", type=int, default=29615)
    ap.add_argument("--out", default="twotower.pt")
    opts = ap.parse_args()
    if "RANK" in os.environ:
        run(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), opts)
    else:
        mp.spawn(run, args=(2, opts), nprocs=2)
