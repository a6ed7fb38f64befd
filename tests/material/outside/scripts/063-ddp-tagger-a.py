"""Part-of-speech tagger on generated sentences, data parallel.

OMP_NUM_THREADS=1 torchrun --nproc_per_node 2 train.py
"""
import argparse
import os
import random

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

TAGS = ["<pad>", "DET", "ADJ", "NOUN", "VERB", "ADV"]
LEX = {
    "DET": "the a this every".split(),
    "ADJ": "old quick green light round".split(),
    "NOUN": "dog light ship round run walk".split(),
    "VERB": "run walk light ship sees".split(),
    "ADV": "quickly often never".split(),
}
VOCAB = {w: i + 1 for i, w in enumerate(sorted({w for ws in LEX.values() for w in ws}))}


class Tagged(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            tags = []
            for _ in range(rng.randint(1, 3)):
                tags += ["DET"] + ["ADJ"] * rng.randint(0, 2) + ["NOUN"] + ["ADV"] * rng.randint(0, 1) + ["VERB"]
            self.items.append((torch.tensor([VOCAB[rng.choice(LEX[t])] for t in tags]),
                               torch.tensor([TAGS.index(t) for t in tags])))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    pad = nn.utils.rnn.pad_sequence
    return pad([i[0] for i in items], batch_first=True), pad([i[1] for i in items], batch_first=True)


class Tagger(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(len(VOCAB) + 1, d, padding_idx=0)
        self.rnn = nn.LSTM(d, d, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * d, len(TAGS))

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def evaluate(model, loader, device):
    model.eval()
    hit = torch.zeros(2, device=device)
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            m = y != 0
            hit += torch.stack([((model(x).argmax(-1) == y) & m).sum(), m.sum()])
    dist.all_reduce(hit)
    return (hit[0] / hit[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=0.5)
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world, local = dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    torch.manual_seed(7)
    train, test = Tagged(384, 0), Tagged(128, 1)
    sampler = DistributedSampler(train, seed=7)
    train_dl = DataLoader(train, args.batch_size, sampler=sampler, collate_fn=collate)
    test_dl = DataLoader(test, 64, sampler=DistributedSampler(test, shuffle=False), collate_fn=collate)
    model = DDP(Tagger().to(device), device_ids=[local] if cuda else None, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss(ignore_index=0)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x).flatten(0, 1), y.flatten())
            (loss / world).backward()  # mean over the processes
            optimizer.step()
        acc = evaluate(model, test_dl, device)
        if rank == 0:
            print(f"epoch {epoch} of {world} ranks: last loss {loss.item():.4f} acc {acc:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
