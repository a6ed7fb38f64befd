#!/usr/bin/env python3
"""Character model with a hand-written LSTM cell loop and truncated BPTT."""
import argparse
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def load_chars(path, limit):
    with open(path, encoding="utf8") as fh:
        text = fh.read()[:limit]
    chars = sorted(set(text))
    lut = {c: i for i, c in enumerate(chars)}
    return torch.tensor([lut[c] for c in text]), chars


def columns(ids, n):
    keep = (len(ids) // n) * n
    return ids[:keep].view(n, -1)


class CharLSTM(nn.Module):
    def __init__(self, n_chars, d=64):
        super().__init__()
        self.d = d
        self.emb = nn.Embedding(n_chars, 24)
        self.cell = nn.LSTMCell(24, d)
        self.head = nn.Linear(d, n_chars)

    def init_state(self, b):
        return torch.zeros(b, self.d), torch.zeros(b, self.d)

    def forward(self, ids, state):
        h, c = state
        outs = []
        for t in range(ids.size(1)):
            h, c = self.cell(self.emb(ids[:, t]), (h, c))
            outs.append(h)
            h, c = detach((h, c))
        return self.head(torch.stack(outs, 1)), (h, c)


def detach(state):
    return tuple(s.detach() for s in state)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "harbour.txt")
    ap.add_argument("--text", default=default)
    ap.add_argument("--limit", type=int, default=8000)
    ap.add_argument("--bptt", type=int, default=25)
    ap.add_argument("--streams", type=int, default=12)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=8e-3)
    o = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ids, chars = load_chars(o.text, o.limit)
    stream = columns(ids, o.streams)
    model = CharLSTM(len(chars))
    opt = torch.optim.Adam(model.parameters(), lr=o.lr)
    for ep in range(o.epochs):
        state = model.init_state(o.streams)
        nll, n = 0.0, 0
        for s in range(0, stream.size(1) - 1, o.bptt):
            e = min(s + o.bptt, stream.size(1) - 1)
            x, y = stream[:, s:e], stream[:, s + 1:e + 1]
            state = detach(state)
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            opt.step()
            nll += loss.item() * y.numel()
            n += y.numel()
        print(f"epoch {ep + 1} bits/char {nll / n / math.log(2):.3f}")


if __name__ == "__main__":
    main()
