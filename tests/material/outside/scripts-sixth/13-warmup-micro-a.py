"""Sentence classifier from scratch on a TSV file (label <tab> text) with warmup + linear decay.

`warmup` and `updates` are counted in optimizer updates.
"""
import argparse
import collections
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


def read_tsv(path):
    rows = []
    if os.path.exists(path):
        for line in open(path, encoding="utf-8"):
            label, _, text = line.rstrip("\n").partition("\t")
            rows.append((int(label), text.lower().split()))
    else:
        rng = random.Random(0)
        good, bad = ["great", "lovely", "fine", "superb"], ["awful", "poor", "dull", "sad"]
        filler = ["the", "movie", "was", "and", "plot", "actor", "quite", "scene"]
        for _ in range(2000):
            y = rng.randint(0, 1)
            words = rng.choices(filler, k=rng.randint(4, 15)) + rng.choices(good if y else bad, k=2)
            rng.shuffle(words)
            rows.append((y, words))
    return rows


class Batcher:
    def __init__(self, rows, vocab, size, max_len, seed):
        self.rows, self.vocab, self.size, self.max_len = rows, vocab, size, max_len
        self.rng = random.Random(seed)

    def encode(self, rows):
        seqs = [[self.vocab.get(w, 1) for w in words[: self.max_len]] or [1] for _, words in rows]
        width = max(map(len, seqs))
        x = torch.tensor([s + [0] * (width - len(s)) for s in seqs])
        return x, torch.tensor([y for y, _ in rows])

    def sample(self):
        return self.encode(self.rng.sample(self.rows, self.size))

    def sweep(self):
        for i in range(0, len(self.rows), self.size):
            yield self.encode(self.rows[i : i + self.size])


class Classifier(nn.Module):
    def __init__(self, vocab, classes, dim=64, max_len=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim, padding_idx=0), nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, 0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.fc = nn.Linear(dim, classes)

    def forward(self, x):
        pad = x == 0
        h = self.tok(x) + self.pos.weight[: x.size(1)]
        h = self.enc(h, src_key_padding_mask=pad).masked_fill(pad[..., None], 0)
        return self.fc(h.sum(1) / (~pad).sum(1, keepdim=True))


def linear_warmup(warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return max(0.0, (total - step) / max(1, total - warmup))

    return factor


def accuracy(model, batcher, device):
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for x, y in batcher.sweep():
            ok += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
            n += len(y)
    model.train()
    return ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", default="train.tsv")
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--updates", type=int, default=400)
    ap.add_argument("--warmup", type=int, default=40)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = read_tsv(args.train)
    random.Random(1).shuffle(rows)
    cut = int(0.85 * len(rows))
    counts = collections.Counter(w for _, ws in rows[:cut] for w in ws)
    vocab = {w: i + 2 for i, (w, _) in enumerate(counts.most_common(20000))}
    train, val = Batcher(rows[:cut], vocab, args.batch, 64, 3), Batcher(rows[cut:], vocab, 64, 64, 3)

    model = Classifier(len(vocab) + 2, 1 + max(y for y, _ in rows)).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = LambdaLR(opt, linear_warmup(args.warmup, args.updates))
    model.train()
    for update in range(args.updates):
        for _ in range(args.accum):
            x, y = train.sample()
            loss = F.cross_entropy(model(x.to(device)), y.to(device)) / args.accum
            loss.backward()
        opt.step()
        sched.step()
        opt.zero_grad()
        if (update + 1) % 50 == 0:
            acc = accuracy(model, val, device)
            print(f"update {update + 1} loss {loss.item() * args.accum:.4f} lr {sched.get_last_lr()[0]:.2e} acc {acc:.3f}")
    torch.save({"model": model.state_dict(), "vocab": vocab}, "classifier.pt")


if __name__ == "__main__":
    main()
