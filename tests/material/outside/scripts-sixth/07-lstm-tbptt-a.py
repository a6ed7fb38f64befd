"""Word LM with a layer-norm LSTM cell, truncated BPTT over --bptt steps.

The hidden state is carried from chunk to chunk; gradients flow through all steps of one chunk
and stop at its boundary.
"""
import argparse
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class LNLSTMCell(nn.Module):
    def __init__(self, dim_in, dim):
        super().__init__()
        self.ih = nn.Linear(dim_in, 4 * dim, bias=False)
        self.hh = nn.Linear(dim, 4 * dim)
        self.ln_c = nn.LayerNorm(dim)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = (self.ih(x) + self.hh(h)).chunk(4, dim=-1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(self.ln_c(c))
        return h, c


class WordLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.dim = dim
        self.emb = nn.Embedding(vocab, dim)
        self.cell = LNLSTMCell(dim, dim)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.emb.weight

    def init_state(self, batch):
        w = self.out.weight
        return w.new_zeros(batch, self.dim), w.new_zeros(batch, self.dim)

    def forward(self, tokens, state):
        outputs = []
        for x in self.drop(self.emb(tokens)).unbind(0):
            state = self.cell(x, detach_state(state))
            outputs.append(state[0])
        return self.out(self.drop(torch.stack(outputs))), state


def detach_state(state):
    return tuple(s.detach() for s in state)


def read_tokens(path):
    if os.path.exists(path):
        words = open(path, encoding="utf-8").read().split()
    else:
        g = torch.Generator().manual_seed(0)
        states = torch.randint(0, 50, (20000,), generator=g).cumsum(0) % 120
        words = [f"w{int(s)}" for s in states]
    index = {w: i for i, w in enumerate(sorted(set(words)))}
    return torch.tensor([index[w] for w in words]), len(index)


def batchify(ids, batch):
    n = len(ids) // batch
    return ids[: n * batch].view(batch, n).t().contiguous()


def chunks(data, bptt):
    for s in range(0, data.size(0) - 1, bptt):
        e = min(s + bptt, data.size(0) - 1)
        yield data[s:e], data[s + 1 : e + 1]


@torch.no_grad()
def evaluate(model, data, bptt):
    model.eval()
    state = model.init_state(data.size(1))
    total = n = 0
    for x, y in chunks(data, bptt):
        logits, state = model(x, state)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        n += y.numel()
    model.train()
    return total / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--text", default="wiki.train.tokens")
    ap.add_argument("--bptt", type=int, default=35)
    ap.add_argument("--batch", type=int, default=20)
    ap.add_argument("--dim", type=int, default=128)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=5.0)
    ap.add_argument("--clip", type=float, default=0.25)
    args = ap.parse_args()
    torch.manual_seed(1111)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    ids, vocab = read_tokens(args.text)
    cut = int(len(ids) * 0.9)
    train = batchify(ids[:cut], args.batch).to(device)
    val = batchify(ids[cut:], 10).to(device)
    model = WordLM(vocab, args.dim).to(device)
    nn.init.uniform_(model.emb.weight, -0.1, 0.1)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)
    best = None
    for epoch in range(1, args.epochs + 1):
        model.train()
        state = model.init_state(args.batch)
        for k, (x, y) in enumerate(chunks(train, args.bptt)):
            state = detach_state(state)
            opt.zero_grad()
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            if k % 10 == 0:
                print(f"epoch {epoch} chunk {k} loss {loss.item():.3f}")
        v = evaluate(model, val, args.bptt)
        print(f"epoch {epoch} val ppl {math.exp(min(v, 20)):.2f}")
        if best is None or v < best:
            best = v
            torch.save(model.state_dict(), "wordlm.pt")
        else:
            for group in opt.param_groups:
                group["lr"] /= 4.0


if __name__ == "__main__":
    main()
