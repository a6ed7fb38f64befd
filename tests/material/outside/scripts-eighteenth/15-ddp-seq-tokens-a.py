"""Sequence tagging on 2 workers (mp.spawn, gloo). Every real token of the global batch has the same weight."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

PAD = -100


class Tagger(nn.Module):
    def __init__(self, vocab=30, d=24, tags=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.LSTM(d, d, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * d, tags)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


def make_batch(rank, step, bs):
    """rank 0 gets short sentences, rank 1 long ones (bucketed data)."""
    g = torch.Generator().manual_seed(1000 * step + rank)
    lo, hi = ((3, 6), (14, 22))[rank % 2]
    lens = torch.randint(lo, hi, (bs,), generator=g)
    ids = torch.randint(1, 30, (bs, int(lens.max())), generator=g)
    prev = torch.roll(ids, 1, dims=1)
    tags = ((ids + (prev if rank % 2 else 0)) % 4)
    tags[torch.arange(ids.size(1))[None] >= lens[:, None]] = PAD
    return ids, tags


def token_loss(logits, tags):
    total = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=PAD, reduction="sum")
    count = (tags != PAD).sum().float()
    return total / count


def worker(rank, world, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(Tagger())
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for step in range(args.steps):
        ids, tags = make_batch(rank, step, args.bs)
        opt.zero_grad()
        loss = token_loss(model(ids), tags)
        loss.backward()
        opt.step()
        if (step + 1) % 10 == 0:
            avg = loss.detach().clone()
            dist.all_reduce(avg)
            if rank == 0:
                print(f"step {step + 1}: loss {avg.item() / world:.5f}", flush=True)

    if rank == 0:
        w = torch.cat([p.detach().flatten() for p in model.parameters()])
        print(f"weight norm {w.norm().item():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=30)
    ap.add_argument("--bs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(2, port, args), nprocs=2)
