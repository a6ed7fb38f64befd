"""Transliteration (latin -> native script) with a small encoder/decoder transformer.

The data file is TSV:  source<TAB>target
"""
import argparse
import math
import random
from functools import partial

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2


class Alphabet:
    def __init__(self, words):
        self.chars = sorted({c for w in words for c in w})
        self.index = {c: i + 3 for i, c in enumerate(self.chars)}

    def __len__(self):
        return len(self.chars) + 3

    def encode(self, w):
        return torch.tensor([BOS] + [self.index[c] for c in w if c in self.index] + [EOS])


class Positional(nn.Module):
    def __init__(self, d, n=128):
        super().__init__()
        pos = torch.arange(n).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(n, d)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:x.size(1)]


class Seq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, d=128, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.d = d
        self.src = nn.Embedding(n_src, d, padding_idx=PAD)
        self.tgt = nn.Embedding(n_tgt, d, padding_idx=PAD)
        self.pos = Positional(d)
        self.core = nn.Transformer(d, heads, layers, layers, 4 * d, dropout, batch_first=True)
        self.out = nn.Linear(d, n_tgt)

    def forward(self, s, t):
        causal = torch.triu(torch.ones(t.size(1), t.size(1), dtype=torch.bool, device=t.device), 1)
        h = self.core(self.pos(self.src(s) * math.sqrt(self.d)), self.pos(self.tgt(t) * math.sqrt(self.d)),
                      tgt_mask=causal, src_key_padding_mask=s == PAD,
                      memory_key_padding_mask=s == PAD, tgt_key_padding_mask=t == PAD)
        return self.out(h)


def collate(batch, a_src, a_tgt):
    s = pad_sequence([a_src.encode(x) for x, _ in batch], batch_first=True, padding_value=PAD)
    t = pad_sequence([a_tgt.encode(y) for _, y in batch], batch_first=True, padding_value=PAD)
    return s, t


def noam(step, warmup, d):
    step = step + 1
    return d ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    nll = hit = n = 0
    for s, t in loader:
        s, t = s.to(device), t.to(device)
        logits, gold = model(s, t[:, :-1]), t[:, 1:]
        nll += nn.functional.cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=PAD,
                                           reduction="sum").item()
        m = gold != PAD
        hit += (logits.argmax(-1) == gold)[m].sum().item()
        n += m.sum().item()
    model.train()
    return nll / n, hit / n


def run(args):
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pairs = [tuple(l.rstrip("\n").split("\t")) for l in open(args.tsv, encoding="utf-8") if "\t" in l]
    random.shuffle(pairs)
    n_val = max(1, len(pairs) // 10)
    val, train = pairs[:n_val], pairs[n_val:]
    a_src, a_tgt = Alphabet([s for s, _ in train]), Alphabet([t for _, t in train])
    fn = partial(collate, a_src=a_src, a_tgt=a_tgt)
    train_dl = DataLoader(train, args.batch_size, shuffle=True, collate_fn=fn, drop_last=True)
    val_dl = DataLoader(val, args.batch_size, collate_fn=fn)

    model = Seq2Seq(len(a_src), len(a_tgt), args.d).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr_factor, betas=(0.9, 0.98), eps=1e-9)
    scheduler = LambdaLR(optimizer, partial(noam, warmup=args.warmup, d=args.d))

    updates, micro, best = 0, 0, float("inf")
    buffer = []
    while updates < args.max_updates:
        for batch in train_dl:
            buffer.append(batch)
            if len(buffer) < args.accumulate:
                continue
            n_tokens = sum((t[:, 1:] != PAD).sum().item() for _, t in buffer)
            optimizer.zero_grad()
            total = 0.0
            for s, t in buffer:
                s, t = s.to(device), t.to(device)
                logits = model(s, t[:, :-1])
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten(), ignore_index=PAD,
                                                   label_smoothing=args.smoothing, reduction="sum") / n_tokens
                loss.backward()
                total += loss.item()
                micro += 1
                scheduler.step()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            buffer.clear()
            updates += 1

            if updates % args.eval_every == 0:
                v, acc = validate(model, val_dl, device)
                print(f"update {updates} ({micro} batches) train {total:.4f} valid {v:.4f} acc {acc:.3f} "
                      f"lr {scheduler.get_last_lr()[0]:.2e}")
                if v < best:
                    best = v
                    torch.save({"model": model.state_dict(), "src": a_src.chars, "tgt": a_tgt.chars}, args.out)
            if updates >= args.max_updates:
                break


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("tsv")
    ap.add_argument("--out", default="translit.pt")
    ap.add_argument("--d", type=int, default=128)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--accumulate", type=int, default=8)
    ap.add_argument("--max-updates", type=int, default=20000)
    ap.add_argument("--warmup", type=int, default=4000)
    ap.add_argument("--lr-factor", type=float, default=1.0)
    ap.add_argument("--smoothing", type=float, default=0.1)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--eval-every", type=int, default=500)
    ap.add_argument("--seed", type=int, default=0)
    run(ap.parse_args())
