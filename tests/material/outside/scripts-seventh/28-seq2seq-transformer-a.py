"""Transformer translation model on a tab-separated file (source<TAB>target, one pair a line).

    python seq2seq_transformer.py --pairs pairs.tsv

Sentences differ much in length. An update is made from --accum batches, and its loss is the mean
over all target tokens of these batches: each token of an update counts the same.
Inverse square root schedule with warmup (counted in updates).
"""
import argparse
import math
import random
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS, UNK = 0, 1, 2, 3


class Vocab:
    def __init__(self, sentences, min_count):
        counts = Counter(w for s in sentences for w in s)
        self.words = ["<pad>", "<s>", "</s>", "<unk>"] + sorted(w for w, c in counts.items() if c >= min_count)
        self.index = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, sent):
        return torch.tensor([BOS] + [self.index.get(w, UNK) for w in sent] + [EOS])


def read_pairs(path, max_len):
    pairs = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            cols = line.rstrip("\n").split("\t")
            if len(cols) >= 2:
                s, t = cols[0].lower().split(), cols[1].lower().split()
                if 0 < len(s) <= max_len and 0 < len(t) <= max_len:
                    pairs.append((s, t))
    return pairs


def batches(data, batch_size, shuffle):
    """batches of sentences of similar length"""
    order = sorted(range(len(data)), key=lambda i: len(data[i][1]))
    chunks = [order[i:i + batch_size] for i in range(0, len(order), batch_size)]
    if shuffle:
        random.shuffle(chunks)
    for c in chunks:
        yield (pad_sequence([data[i][0] for i in c], batch_first=True, padding_value=PAD),
               pad_sequence([data[i][1] for i in c], batch_first=True, padding_value=PAD))


class Seq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, d, heads, layers, ff, dropout, max_len):
        super().__init__()
        self.d = d
        self.src = nn.Embedding(n_src, d, padding_idx=PAD)
        self.tgt = nn.Embedding(n_tgt, d, padding_idx=PAD)
        pos = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        self.register_buffer("pe", torch.stack([pos.sin(), pos.cos()], -1).view(max_len, d))
        self.core = nn.Transformer(d, heads, layers, layers, ff, dropout, batch_first=True, norm_first=True)
        self.out = nn.Linear(d, n_tgt)
        self.drop = nn.Dropout(dropout)

    def embed(self, table, x):
        return self.drop(table(x) * math.sqrt(self.d) + self.pe[:x.size(1)])

    def forward(self, src, tgt):
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device).triu(1)
        h = self.core(self.embed(self.src, src), self.embed(self.tgt, tgt), tgt_mask=causal,
                      src_key_padding_mask=src == PAD, tgt_key_padding_mask=tgt == PAD,
                      memory_key_padding_mask=src == PAD)
        return self.out(h)


def summed_loss(model, src, tgt, smoothing=0.0):
    logits = model(src, tgt[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD,
                           reduction="sum", label_smoothing=smoothing)


def n_tokens(tgt):
    return (tgt[:, 1:] != PAD).sum().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pairs", default="pairs.tsv")
    ap.add_argument("--max_len", type=int, default=80)
    ap.add_argument("--min_count", type=int, default=2)
    ap.add_argument("--d", type=int, default=256)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--layers", type=int, default=3)
    ap.add_argument("--ff", type=int, default=1024)
    ap.add_argument("--dropout", type=float, default=0.1)
    ap.add_argument("--batch_size", type=int, default=64)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--warmup", type=int, default=400)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--seed", type=int, default=8)
    args = ap.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    pairs = read_pairs(args.pairs, args.max_len)
    random.shuffle(pairs)
    n_val = max(1, len(pairs) // 20)
    vs = Vocab([s for s, _ in pairs[n_val:]], args.min_count)
    vt = Vocab([t for _, t in pairs[n_val:]], args.min_count)
    data = [(vs.encode(s), vt.encode(t)) for s, t in pairs]
    val, train = data[:n_val], data[n_val:]

    model = Seq2Seq(len(vs), len(vt), args.d, args.heads, args.layers, args.ff, args.dropout, args.max_len + 2).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98), eps=1e-9)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda n: min((n + 1) / args.warmup, math.sqrt(args.warmup / (n + 1))))

    def update(group):
        opt.zero_grad()
        tokens = sum(n_tokens(tgt) for _, tgt in group)
        total = 0.0
        for src, tgt in group:
            loss = summed_loss(model, src.to(device), tgt.to(device), smoothing=0.1) / tokens
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        opt.step()
        sched.step()
        return total

    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        losses, group = [], []
        for b in batches(train, args.batch_size, shuffle=True):
            group.append(b)
            if len(group) == args.accum:
                losses.append(update(group))
                group = []
        if group:
            losses.append(update(group))

        model.eval()
        with torch.no_grad():
            nll = count = 0.0
            for src, tgt in batches(val, args.batch_size, shuffle=False):
                nll += summed_loss(model, src.to(device), tgt.to(device)).item()
                count += n_tokens(tgt)
        nll /= count
        print(f"epoch {epoch} train {sum(losses) / len(losses):.4f} valid nll {nll:.4f} "
              f"ppl {math.exp(min(nll, 20)):.2f} lr {sched.get_last_lr()[0]:.2e}")
        if nll < best:
            best = nll
            torch.save({"model": model.state_dict(), "src": vs.words, "tgt": vt.words}, "seq2seq.pt")


if __name__ == "__main__":
    main()
