"""Sequence model with padded batches under DDP; loss is the mean over all target tokens of the global batch."""
import argparse
import os
import random

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence

PAD = 0
IGNORE = -100
VOCAB = 24


def make_sequences(n, seed):
    """Counting sequences a, a+s, a+2s ... (mod) with very different lengths."""
    rng = random.Random(seed)
    seqs = []
    for _ in range(n):
        length = rng.choice([4, 6, 8, 40])
        start, stride = rng.randrange(VOCAB - 1), rng.randrange(1, 5)
        seqs.append(torch.tensor([1 + (start + stride * k) % (VOCAB - 1) for k in range(length)]))
    return seqs


def batches(seqs, rank, world, bs, epoch):
    order = list(range(len(seqs)))
    random.Random(epoch).shuffle(order)
    mine = order[rank::world]
    for i in range(0, len(mine) - bs + 1, bs):
        chunk = [seqs[j] for j in mine[i:i + bs]]
        ids = pad_sequence(chunk, batch_first=True, padding_value=PAD)
        labels = pad_sequence(chunk, batch_first=True, padding_value=IGNORE)
        yield ids[:, :-1], labels[:, 1:]


class GRULM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


def run(rank, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=args.world)
    torch.manual_seed(5)
    model = DDP(GRULM())
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    seqs = make_sequences(512, seed=11)

    for epoch in range(args.epochs):
        model.train()
        nll, tokens = 0.0, 0.0
        for ids, labels in batches(seqs, rank, args.world, args.bs, epoch):
            logits = model(ids)
            loss_sum = F.cross_entropy(logits.flatten(0, 1), labels.flatten(),
                                       ignore_index=IGNORE, reduction="sum")
            n_tok = (labels != IGNORE).sum().float()
            loss = loss_sum / n_tok
            dist.all_reduce(n_tok, op=dist.ReduceOp.SUM)

            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()

            total = loss_sum.detach().clone()
            dist.all_reduce(total)
            nll += total.item()
            tokens += n_tok.item()
        if rank == 0:
            print(f"epoch {epoch}: nll/token {nll / tokens:.4f}", flush=True)
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--world", type=int, default=2)
    p.add_argument("--bs", type=int, default=4)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=0.2)
    p.add_argument("--clip", type=float, default=2.0)
    p.add_argument("--port", type=int, default=29652)
    args = p.parse_args()
    mp.spawn(run, args=(args,), nprocs=args.world)


if __name__ == "__main__":
    main()
