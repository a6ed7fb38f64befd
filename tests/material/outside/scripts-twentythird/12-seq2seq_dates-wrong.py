"""Translate human-written dates to ISO format with a GRU encoder-decoder and attention.

Usage: python 12-seq2seq_dates.py --pairs data/dates.tsv
"""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS = 0, 1, 2


class CharVocab:
    def __init__(self, strings):
        self.chars = ["<pad>", "<bos>", "<eos>"] + sorted(set("".join(strings)))
        self.index = {c: i for i, c in enumerate(self.chars)}

    def __len__(self):
        return len(self.chars)

    def encode(self, s):
        return torch.tensor([self.index[c] for c in s] + [EOS])

    def decode(self, ids):
        out = []
        for i in ids:
            if i == EOS:
                break
            out.append(self.chars[i])
        return "".join(out)


class Seq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, dim=48):
        super().__init__()
        self.src_emb = nn.Embedding(n_src, dim, padding_idx=PAD)
        self.tgt_emb = nn.Embedding(n_tgt, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * dim, dim)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.key = nn.Linear(2 * dim, dim, bias=False)
        self.out = nn.Linear(3 * dim, n_tgt)

    def encode(self, src):
        enc, h = self.encoder(self.src_emb(src))
        h0 = torch.tanh(self.bridge(torch.cat([h[0], h[1]], -1))).unsqueeze(0)
        return enc, h0

    def decode(self, tgt_in, h, enc, src_mask):
        dec, h = self.decoder(self.tgt_emb(tgt_in), h)
        scores = dec @ self.key(enc).transpose(1, 2)
        scores = scores.masked_fill(~src_mask.unsqueeze(1), float("-inf"))
        ctx = scores.softmax(-1) @ enc
        return self.out(torch.cat([dec, ctx], -1)), h

    def forward(self, src, tgt_in):
        enc, h = self.encode(src)
        return self.decode(tgt_in, h, enc, src != PAD)[0]

    @torch.no_grad()
    def greedy(self, src, max_len=12):
        enc, h = self.encode(src)
        tok = torch.full((src.size(0), 1), BOS, device=src.device)
        out = []
        for _ in range(max_len):
            logits, h = self.decode(tok, h, enc, src != PAD)
            tok = logits.argmax(-1)
            out.append(tok)
        return torch.cat(out, 1)


def make_batches(pairs, size):
    for i in range(0, len(pairs), size):
        src, tgt = zip(*pairs[i : i + size])
        yield pad_sequence(src, batch_first=True), pad_sequence(tgt, batch_first=True)


def chunks(items, n):
    for i in range(0, len(items), n):
        yield items[i : i + n]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pairs", required=True)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--micro-batch", type=int, default=8)
    ap.add_argument("--accumulate", type=int, default=4)
    ap.add_argument("--lr", type=float, default=4e-3)
    args = ap.parse_args()

    rng = random.Random(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    with open(args.pairs, encoding="utf-8") as f:
        raw = [line.rstrip("\n").split("\t") for line in f]
    src_v, tgt_v = CharVocab([r[0] for r in raw]), CharVocab([r[1] for r in raw])
    pairs = [(src_v.encode(a), tgt_v.encode(b)) for a, b in raw]
    train, test = pairs[:-60], pairs[-60:]

    model = Seq2Seq(len(src_v), len(tgt_v)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)

    for epoch in range(args.epochs):
        model.train()
        rng.shuffle(train)
        total_loss, total_tokens = 0.0, 0
        for group in chunks(list(make_batches(train, args.micro_batch)), args.accumulate):
            # normalise by the number of target tokens in the whole group
            n_tokens = sum((tgt != PAD).sum().item() for _, tgt in group)
            for src, tgt in group:
                optimizer.zero_grad()
                src, tgt = src.to(device), tgt.to(device)
                bos = torch.full_like(tgt[:, :1], BOS)
                logits = model(src, torch.cat([bos, tgt[:, :-1]], 1))
                loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD, reduction="sum")
                (loss / n_tokens).backward()
                total_loss += loss.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total_tokens += n_tokens

        model.eval()
        exact = 0
        for src, tgt in make_batches(test, 30):
            pred = model.greedy(src.to(device)).cpu()
            exact += sum(tgt_v.decode(p.tolist()) == tgt_v.decode(t.tolist()) for p, t in zip(pred, tgt))
        print(f"epoch {epoch}: loss/token {total_loss / total_tokens:.4f}  exact match {exact}/{len(test)}")


if __name__ == "__main__":
    main()
