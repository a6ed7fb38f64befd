"""Sentiment classifier trained with DistributedDataParallel on CPU (gloo) or GPUs (nccl).

  python 08-ddp_reviews.py --data data/reviews.jsonl --nproc 2
"""
import argparse
import json
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Reviews(Dataset):
    def __init__(self, rows, vocab, length=20):
        self.items = []
        for r in rows:
            ids = [vocab.get(w, 1) for w in r["text"].split()][:length]
            self.items.append((torch.tensor(ids + [0] * (length - len(ids))), r["label"]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class BagAttention(nn.Module):
    def __init__(self, n_vocab, dim=32):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, dim, padding_idx=0)
        self.score = nn.Linear(dim, 1)
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, 2))

    def logits(self, ids):
        e = self.emb(ids)
        w = self.score(torch.tanh(e)).squeeze(-1).masked_fill(ids == 0, -1e4).softmax(-1)
        return self.out((w.unsqueeze(-1) * e).sum(1))

    def forward(self, ids, labels):
        logits = self.logits(ids)
        return F.cross_entropy(logits, labels), logits


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def worker(rank, world, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")

    rows = [json.loads(l) for l in open(args.data)]
    words = sorted({w for r in rows for w in r["text"].split()})
    vocab = {w: i + 2 for i, w in enumerate(words)}
    train, test = Reviews(rows[:280], vocab), Reviews(rows[280:], vocab)
    sampler = DistributedSampler(train, world, rank, shuffle=True)
    loader = DataLoader(train, batch_size=args.batch, sampler=sampler)

    model = DDP(BagAttention(len(vocab) + 2).to(device), device_ids=[rank] if cuda else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        sampler.set_epoch(epoch)
        total = torch.zeros(2, device=device)
        for ids, labels in loader:
            ids, labels = ids.to(device), labels.to(device)
            loss, logits = model.module(ids, labels)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += torch.stack([loss.detach() * len(ids), torch.tensor(float(len(ids)), device=device)])
        dist.all_reduce(total)
        if rank == 0:
            model.eval()
            with torch.no_grad():
                hits = sum((model.module.logits(x.to(device)).argmax(-1).cpu() == y).sum().item()
                           for x, y in DataLoader(test, batch_size=80))
            print(f"epoch {epoch} loss {total[0] / total[1]:.4f} test acc {hits / len(test):.3f}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/reviews.jsonl")
    ap.add_argument("--nproc", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch", type=int, default=20)
    ap.add_argument("--lr", type=float, default=5e-3)
    a = ap.parse_args()
    mp.spawn(worker, args=(a.nproc, free_port(), a), nprocs=a.nproc)
