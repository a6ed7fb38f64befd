"""Transliteration: character sequence to character sequence, from JSON lines {"src": ..., "tgt": ...}."""
import argparse
import json
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2
MODELS = {}


def register(name):
    def wrap(cls):
        MODELS[name] = cls
        return cls

    return wrap


class Alphabet:
    def __init__(self, words):
        self.index = {c: i + 3 for i, c in enumerate(sorted(set("".join(words))))}

    def __len__(self):
        return len(self.index) + 3

    def encode(self, word):
        return [BOS] + [self.index[c] for c in word] + [EOS]


def pad(seqs):
    out = torch.full((len(seqs), max(map(len, seqs))), PAD)
    for row, s in zip(out, seqs):
        row[: len(s)] = torch.tensor(s)
    return out


@register("gru")
class GRUSeq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, dim):
        super().__init__()
        self.src = nn.Embedding(n_src, dim, padding_idx=PAD)
        self.tgt = nn.Embedding(n_tgt, dim, padding_idx=PAD)
        self.enc = nn.GRU(dim, dim, batch_first=True)
        self.dec = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(2 * dim, n_tgt)

    def forward(self, src, tgt_in):
        mem, h = self.enc(self.src(src))
        dec, _ = self.dec(self.tgt(tgt_in), h)
        score = (dec @ mem.transpose(1, 2)).masked_fill((src == PAD)[:, None], -1e4)
        return self.out(torch.cat([dec, score.softmax(-1) @ mem], -1))


@register("bag")
class BagDecoder(nn.Module):
    def __init__(self, n_src, n_tgt, dim):
        super().__init__()
        self.src = nn.EmbeddingBag(n_src, dim, mode="mean", padding_idx=PAD)
        self.tgt = nn.Embedding(n_tgt, dim, padding_idx=PAD)
        self.dec = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, n_tgt)

    def forward(self, src, tgt_in):
        return self.out(self.dec(self.tgt(tgt_in), self.src(src)[None].contiguous())[0])


def length_batches(pairs, size):
    """Batches of like length, in random order."""
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), random.random()))
    chunks = [order[i : i + size] for i in range(0, len(order), size)]
    random.shuffle(chunks)
    for c in chunks:
        yield pad([pairs[i][0] for i in c]), pad([pairs[i][1] for i in c])


def windows(batches, k):
    window = []
    for b in batches:
        window.append(b)
        if len(window) == k:
            yield window
            window = []
    if window:
        yield window


def evaluate(model, pairs, size):
    model.eval()
    nll = n = 0
    with torch.no_grad():
        for src, tgt in length_batches(pairs, size):
            logit = model(src, tgt[:, :-1])
            nll += F.cross_entropy(logit.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD, reduction="sum").item()
            n += (tgt[:, 1:] != PAD).sum().item()
    return nll / n


def train_epoch(model, pairs, opt, sched, args):
    model.train()
    seen, total = 0, 0.0
    for window in windows(length_batches(pairs, args.batch_size), args.accum):
        n_tokens = sum((tgt[:, 1:] != PAD).sum().item() for _, tgt in window)
        opt.zero_grad(set_to_none=True)
        for src, tgt in window:
            logit = model(src, tgt[:, :-1]).flatten(0, 1)
            loss = F.cross_entropy(logit, tgt[:, 1:].flatten(), ignore_index=PAD) / len(window)
            loss.backward()
            total += loss.item() * n_tokens
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        opt.step()
        sched.step()
        seen += n_tokens
    return total / seen


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pairs", default="data/translit.jsonl")
    ap.add_argument("--model", choices=sorted(MODELS), default="gru")
    ap.add_argument("--dim", type=int, default=48)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    rows = [json.loads(line) for line in open(args.pairs, encoding="utf-8") if line.strip()]
    a, b = Alphabet([r["src"] for r in rows]), Alphabet([r["tgt"] for r in rows])
    pairs = [(a.encode(r["src"]), b.encode(r["tgt"])) for r in rows]
    random.shuffle(pairs)
    cut = int(0.9 * len(pairs))
    train, val = pairs[:cut], pairs[cut:]

    model = MODELS[args.model](len(a), len(b), args.dim)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    n_batches = -(-len(train) // args.batch_size)
    total = args.epochs * -(-n_batches // args.accum)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=total)
    for epoch in range(args.epochs):
        loss = train_epoch(model, train, opt, sched, args)
        print(f"epoch {epoch} train nll/token {loss:.4f} val {evaluate(model, val, args.batch_size):.4f}")


if __name__ == "__main__":
    main()
