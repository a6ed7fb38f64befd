"""Character language model on a list of names.

Micro-batches are accumulated so that one update equals the update of a batch of
micro_batch * accum names (token-averaged cross entropy), without its memory.
"""
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
import torch.nn.functional as F

from seqpad import CharVocab, pad_batch, PAD, BOS, EOS

HERE = Path(__file__).parent


@dataclass
class Config:
    data: str = str(HERE / "data" / "names.txt")
    micro_batch: int = 4
    accum: int = 8
    epochs: int = 5
    lr: float = 0.5
    momentum: float = 0.9
    hidden: int = 48


class CharGRU(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


def micro_batches(items, size):
    for k in range(0, len(items), size):
        yield items[k:k + size]


@torch.no_grad()
def sample(model, vocab, device, limit=20):
    model.eval()
    x, h, out = torch.tensor([[BOS]], device=device), None, []
    for _ in range(limit):
        logits, h = model(x, h)
        nxt = torch.multinomial(logits[0, -1].softmax(-1), 1)
        if nxt.item() in (EOS, PAD):
            break
        out.append(nxt.item())
        x = nxt.view(1, 1)
    return vocab.decode(out)


def train_epoch(model, opt, seqs, cfg, device):
    model.train()
    random.shuffle(seqs)
    total, tokens = 0.0, 0
    window = cfg.micro_batch * cfg.accum
    for chunk in micro_batches(seqs, window):
        opt.zero_grad()
        micros = [pad_batch(m) for m in micro_batches(chunk, cfg.micro_batch)]
        n_tok = sum(int((y != PAD).sum()) for _, y in micros)
        for x, y in micros:
            x, y = x.to(device), y.to(device)
            logits, _ = model(x)
            nll = F.cross_entropy(logits.flatten(0, 1), y.flatten(),
                                  ignore_index=PAD, reduction="sum")
            (nll / (y != PAD).sum() / len(micros)).backward()
            total += nll.item()
        opt.step()
        tokens += n_tok
    return total / tokens


def main():
    cfg = Config()
    if len(sys.argv) > 1:
        cfg.epochs = int(sys.argv[1])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    lines = Path(cfg.data).read_text().split()
    vocab = CharVocab(lines)
    seqs = [vocab.encode(s) for s in lines]
    model = CharGRU(len(vocab), cfg.hidden).to(device)
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)
    for epoch in range(cfg.epochs):
        loss = train_epoch(model, opt, seqs, cfg, device)
        print(f"{epoch + 1:3d}  nll/char {loss:.4f}  {sample(model, vocab, device)}")


if __name__ == "__main__":
    main()
