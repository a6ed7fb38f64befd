import argparse

import torch
import torch.nn as nn


class LM(nn.Module):
    def __init__(self, v, h):
        super().__init__()
        self.emb = nn.Embedding(v, h)
        self.rnn = nn.LSTM(h, h, batch_first=True)
        self.dec = nn.Linear(h, v)

    def forward(self, x, state):
        out, state = self.rnn(self.emb(x), state)
        return self.dec(out), state


def detach(state):
    return None if state is None else tuple(s.detach() for s in state)


def batchify(ids, bsz):
    n = len(ids) // bsz
    return ids[: n * bsz].view(bsz, n)


if __name__ == "__main__":
    ap = argparse.ArgumentParser("truncated BPTT language model")
    ap.add_argument("--bptt", type=int, default=10)
    ap.add_argument("--clip", type=float, default=0.25)
    ap.add_argument("--lr", type=float, default=2.0)
    ap.add_argument("--epochs", type=int, default=2)
    args = ap.parse_args()
    torch.manual_seed(1111)
    source = (torch.arange(1300) % 7 + (torch.rand(1300) > 0.9)).long()
    data = batchify(source, 8)
    model = LM(9, 24)
    crit = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        state, total, n = None, 0.0, 0
        for i in range(0, data.size(1) - 1, args.bptt):
            length = min(args.bptt, data.size(1) - 1 - i)
            x, y = data[:, i:i + length], data[:, i + 1:i + 1 + length]
            state = detach(state)
            model.zero_grad()
            logits, state = model(x, state)
            loss = crit(logits.reshape(-1, 9), y.reshape(-1))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(p.grad, alpha=-args.lr)
            total += loss.item() * length
            n += length
        print(f"epoch {epoch} ppl {torch.tensor(total / n).exp().item():.3f}")
