"""Word-level GRU language model, data parallel.  torchrun --nproc_per_node=N train.py"""
import contextlib
import os
import random

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

ACCUM = int(os.environ.get("ACCUM", 4))
STEPS = int(os.environ.get("STEPS", 15))
BATCH, SEQ, DIM = 8, 20, 48
RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
LOCAL = int(os.environ["LOCAL_RANK"])


def corpus():
    rng = random.Random(0)
    subj, verb, obj = "cat dog bird child farmer".split(), "sees chases likes finds".split(), "ball tree house fish".split()
    words = []
    for _ in range(3000):
        words += ["the", rng.choice(subj), rng.choice(verb), "the", rng.choice(obj), "."]
    vocab = sorted(set(words))
    lut = {w: i for i, w in enumerate(vocab)}
    return torch.tensor([lut[w] for w in words]), vocab


class GRULM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, DIM)
        self.gru = nn.GRU(DIM, DIM, batch_first=True)
        self.out = nn.Linear(DIM, vocab)

    def forward(self, x):
        h, _ = self.gru(self.emb(x))
        return self.out(h)


def batches(data, seed):
    g = torch.Generator().manual_seed(seed)
    while True:
        ix = torch.randint(len(data) - SEQ - 1, (BATCH,), generator=g)
        yield (torch.stack([data[i:i + SEQ] for i in ix]),
               torch.stack([data[i + 1:i + 1 + SEQ] for i in ix]))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", LOCAL) if cuda else torch.device("cpu")
    torch.manual_seed(1234)
    data, vocab = corpus()
    model = GRULM(len(vocab)).to(device)
    model = DistributedDataParallel(model, device_ids=[LOCAL] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    stream = batches(data, seed=100 + RANK)

    for step in range(1, STEPS + 1):
        optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=device)
        for micro in range(ACCUM):
            x, y = (t.to(device) for t in next(stream))
            # only the last micro-batch of the step needs the all-reduce
            sync = contextlib.nullcontext() if micro == ACCUM - 1 else model.no_sync()
            with sync:
                loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / ACCUM
                loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        dist.all_reduce(total)
        if RANK == 0 and step % 5 == 0:
            print(f"step {step}: loss {total.item() / WORLD:.4f}", flush=True)

    if RANK == 0:
        torch.save({"model": model.module.state_dict(), "vocab": vocab}, "gru_lm.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
