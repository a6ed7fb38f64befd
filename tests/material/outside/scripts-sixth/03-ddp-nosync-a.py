"""Data-parallel training of a sequence tagger with gradient accumulation.

    torchrun --nproc_per_node=2 train_tagger.py --accum 4
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


class Tagger(nn.Module):
    def __init__(self, vocab=200, dim=64, tags=9):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(self.drop(h))


def make_data(n=2048, length=24, vocab=200, tags=9, seed=5):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(0, vocab, (n, length), generator=g)
    table = torch.randint(0, tags, (vocab,), generator=g)
    y = (table[x] + table[x.roll(1, dims=1)]) % tags
    return TensorDataset(x, y)


def setup():
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local)
        return torch.device("cuda", local)
    return torch.device("cpu")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--save", default="tagger.pt")
    args = p.parse_args()

    device = setup()
    torch.manual_seed(1234)
    data = make_data()
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    usable = len(loader) - len(loader) % args.accum

    model = DDP(Tagger().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        opt.zero_grad(set_to_none=True)
        running = torch.zeros((), device=device)
        for i, (x, y) in enumerate(loader):
            if i >= usable:
                break
            x, y = x.to(device), y.to(device)
            boundary = (i + 1) % args.accum == 0
            # communicate only with the last micro-batch of a group
            ctx = contextlib.nullcontext() if boundary else model.no_sync()
            with ctx:
                logits = model(x)
                loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
                (loss / args.accum).backward()
            running += loss.detach()
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                opt.step()
                opt.zero_grad(set_to_none=True)
        running /= usable
        dist.all_reduce(running)
        running /= dist.get_world_size()
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {running.item():.4f}")

    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), args.save)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
