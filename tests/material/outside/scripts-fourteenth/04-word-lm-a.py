"""Word-level GRU language model with gradient accumulation; settings live in data/lm.json"""
import json
from pathlib import Path

import torch
from torch import nn
import torch.nn.functional as F

cfg = json.loads(Path("data/lm.json").read_text())
torch.manual_seed(7)


def load_corpus(path):
    toks = Path(path).read_text().replace(".", " <eos>").split()
    vocab = {w: i for i, w in enumerate(sorted(set(toks)))}
    ids = torch.tensor([vocab[w] for w in toks])
    cut = int(0.9 * len(ids))
    return ids[:cut], ids[cut:], vocab


def windows(ids, length=16):
    n = (len(ids) - 1) // length
    x = ids[: n * length].view(n, length)
    y = ids[1: n * length + 1].view(n, length)
    return x, y


class LM(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.gru(self.drop(self.emb(x)))
        return self.out(self.drop(h))


def nll(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def micro_batches(x, y, size):
    order = torch.randperm(len(x))
    for i in range(0, len(order) - size + 1, size):
        j = order[i:i + size]
        yield x[j], y[j]


def run():
    train_ids, valid_ids, vocab = load_corpus("data/corpus.txt")
    xt, yt = windows(train_ids)
    xv, yv = windows(valid_ids)
    model = LM(len(vocab), cfg["hidden"])
    opt = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=cfg["momentum"])
    accum = cfg["accum"]
    micro = cfg["batch"] // accum
    step = 0
    for epoch in range(cfg["epochs"]):
        model.train()
        batches = list(micro_batches(xt, yt, micro))
        batches = batches[: len(batches) // accum * accum]
        total = 0.0
        for k, (x, y) in enumerate(batches, start=1):
            loss = nll(model, x, y)
            total += loss.item()
            loss.backward()
            if k % accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
                opt.step()
                opt.zero_grad()
                step += 1
        model.eval()
        with torch.no_grad():
            vl = nll(model, xv, yv).item()
        print(f"epoch {epoch} step {step} train {total / len(batches):.3f} valid {vl:.3f}")


run()
