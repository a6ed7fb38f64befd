import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    corpus: str = "data/corpus.txt"
    batch_size: int = 16
    bptt: int = 35
    emb: int = 64
    hidden: int = 128
    layers: int = 2
    dropout: float = 0.2
    lr: float = 2.0
    clip: float = 0.25
    epochs: int = 6
    seed: int = 11


class CharLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.drop = nn.Dropout(cfg.dropout)
        self.embed = nn.Embedding(vocab, cfg.emb)
        self.rnn = nn.LSTM(cfg.emb, cfg.hidden, cfg.layers, dropout=cfg.dropout)
        self.out = nn.Linear(cfg.hidden, vocab)

    def forward(self, x, state):
        y, state = self.rnn(self.drop(self.embed(x)), state)
        return self.out(self.drop(y)), state


def batchify(ids, bsz):
    n = ids.numel() // bsz
    return ids[: n * bsz].view(bsz, n).t().contiguous()


def chunks(stream, bptt):
    for i in range(0, stream.size(0) - 1, bptt):
        n = min(bptt, stream.size(0) - 1 - i)
        yield stream[i : i + n], stream[i + 1 : i + 1 + n].reshape(-1)


def repackage(state):
    return tuple(s.detach() for s in state)


def evaluate(model, stream, cfg, criterion):
    model.eval()
    state, total, count = None, 0.0, 0
    with torch.no_grad():
        for x, y in chunks(stream, cfg.bptt):
            logits, state = model(x, state)
            total += criterion(logits.flatten(0, 1), y).item() * y.numel()
            count += y.numel()
    return total / count


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    text = open(cfg.corpus, encoding="utf-8").read()
    chars = sorted(set(text))
    lookup = {c: i for i, c in enumerate(chars)}
    ids = torch.tensor([lookup[c] for c in text])
    cut = int(len(ids) * 0.9)
    train, valid = batchify(ids[:cut], cfg.batch_size), batchify(ids[cut:], 4)

    model = CharLM(len(chars), cfg)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.25, patience=0)

    for epoch in range(1, cfg.epochs + 1):
        model.train()
        state = None
        total = count = 0
        for x, y in chunks(train, cfg.bptt):
            if state is not None:
                state = repackage(state)
            optimizer.zero_grad()
            logits, state = model(x, state)
            loss = criterion(logits.flatten(0, 1), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
            optimizer.step()
            total += loss.item() * y.numel()
            count += y.numel()
        val = evaluate(model, valid, cfg, criterion)
        plateau.step(val)
        print(
            f"epoch {epoch} | train ppl {math.exp(total / count):.2f} "
            f"| valid ppl {math.exp(val):.2f} | lr {optimizer.param_groups[0]['lr']:.4f}"
        )
    torch.save(model.state_dict(), "charlm.pt")


if __name__ == "__main__":
    main()
