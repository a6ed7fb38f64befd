"""Character-level language model, stateful LSTM with truncated BPTT.

Usage: CORPUS=data/shakespeare.txt python 03-char-lstm.py
"""
import math
import os
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    corpus: str = os.environ.get("CORPUS", "data/input.txt")
    out: str = os.environ.get("OUT", "charlm.pt")
    batch_size: int = 16
    bptt: int = 32
    emb: int = 32
    hidden: int = 64
    layers: int = 2
    dropout: float = 0.2
    lr: float = 4.0
    clip: float = 0.25
    epochs: int = 4
    seed: int = 1111
    log_every: int = 20


class Corpus:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.itos = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(self.itos)}
        ids = torch.tensor([self.stoi[c] for c in text], dtype=torch.long)
        n = int(0.9 * len(ids))
        self.train, self.valid = ids[:n], ids[n:]


def batchify(data, bsz, device):
    nbatch = data.size(0) // bsz
    data = data[: nbatch * bsz]
    return data.view(bsz, -1).t().contiguous().to(device)


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].reshape(-1)


class CharLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.drop = nn.Dropout(cfg.dropout)
        self.encoder = nn.Embedding(vocab, cfg.emb)
        self.rnn = nn.LSTM(cfg.emb, cfg.hidden, cfg.layers, dropout=cfg.dropout)
        self.decoder = nn.Linear(cfg.hidden, vocab)
        self.cfg = cfg
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, x, hidden):
        emb = self.drop(self.encoder(x))
        out, hidden = self.rnn(emb, hidden)
        return self.decoder(self.drop(out)).flatten(0, 1), hidden

    def init_hidden(self, bsz):
        w = next(self.parameters())
        shape = (self.cfg.layers, bsz, self.cfg.hidden)
        return w.new_zeros(shape), w.new_zeros(shape)


def repackage(h):
    return tuple(v.detach() for v in h)


@torch.no_grad()
def evaluate(model, source, cfg, criterion):
    model.eval()
    hidden = model.init_hidden(source.size(1))
    total = 0.0
    for i in range(0, source.size(0) - 1, cfg.bptt):
        x, y = get_batch(source, i, cfg.bptt)
        out, hidden = model(x, hidden)
        total += len(x) * criterion(out, y).item()
    return total / (len(source) - 1)


def train_epoch(model, source, cfg, criterion, optimizer, epoch):
    model.train()
    hidden = model.init_hidden(source.size(1))
    total, count = 0.0, 0
    for b, i in enumerate(range(0, source.size(0) - 1, cfg.bptt)):
        x, y = get_batch(source, i, cfg.bptt)
        hidden = repackage(hidden)
        optimizer.zero_grad()
        out, hidden = model(x, hidden)
        loss = criterion(out, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
        optimizer.step()
        total += loss.item()
        count += 1
        if b % cfg.log_every == 0 and b > 0:
            cur = total / count
            print(f"| epoch {epoch} | {b:4d} batches | loss {cur:5.3f} | ppl {math.exp(min(cur, 20)):8.2f}")
            total, count = 0.0, 0


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    corpus = Corpus(cfg.corpus)
    train_data = batchify(corpus.train, cfg.batch_size, device)
    val_data = batchify(corpus.valid, cfg.batch_size, device)

    model = CharLM(len(corpus.itos), cfg).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)

    best = None
    for epoch in range(1, cfg.epochs + 1):
        train_epoch(model, train_data, cfg, criterion, optimizer, epoch)
        val = evaluate(model, val_data, cfg, criterion)
        print(f"== epoch {epoch}: valid loss {val:.3f}, bpc {val / math.log(2):.3f}")
        if best is None or val < best:
            best = val
            torch.save({"model": model.state_dict(), "chars": corpus.itos}, cfg.out)
        else:
            # anneal like the word LM example
            for g in optimizer.param_groups:
                g["lr"] /= 4.0


if __name__ == "__main__":
    main()
