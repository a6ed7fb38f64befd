"""Character-level transformer LM on documents of unequal length.

Documents are padded within a micro-batch; the loss of one optimizer update is the mean
negative log likelihood per real token over the whole effective batch.
"""
import glob
import math
import os
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


@dataclass
class Config:
    corpus: str = "corpus/*.txt"
    d_model: int = 128
    heads: int = 4
    layers: int = 3
    max_len: int = 192
    micro_batch: int = 8
    accum: int = 4
    updates: int = 400
    lr: float = 3e-4
    clip: float = 1.0
    seed: int = 11
    device: str = "cuda" if torch.cuda.is_available() else "cpu"


def load_documents(cfg):
    docs = []
    for path in sorted(glob.glob(cfg.corpus)):
        with open(path, encoding="utf-8", errors="ignore") as f:
            docs += [d for d in f.read().split("\n\n") if len(d) > 8]
    if not docs:
        rng = torch.Generator().manual_seed(cfg.seed)
        words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
        for _ in range(600):
            n = int(torch.randint(3, 40, (1,), generator=rng))
            ids = torch.randint(0, len(words), (n,), generator=rng).tolist()
            docs.append(" ".join(words[i] for i in ids))
    vocab = {c: i + 1 for i, c in enumerate(sorted(set("".join(docs))))}
    data = [torch.tensor([vocab[c] for c in d[: cfg.max_len + 1]]) for d in docs]
    return data, len(vocab) + 1


def sample_batch(data, n, gen):
    idx = torch.randint(0, len(data), (n,), generator=gen).tolist()
    padded = nn.utils.rnn.pad_sequence([data[i] for i in idx], batch_first=True, padding_value=PAD)
    return padded[:, :-1], padded[:, 1:]


class CharLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.d_model, padding_idx=PAD)
        self.pos = nn.Embedding(cfg.max_len, cfg.d_model)
        layer = nn.TransformerEncoderLayer(
            cfg.d_model, cfg.heads, 4 * cfg.d_model, dropout=0.1, batch_first=True, norm_first=True
        )
        self.enc = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg.d_model)
        self.out = nn.Linear(cfg.d_model, vocab)

    def forward(self, x):
        t = x.size(1)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), 1)
        h = self.tok(x) + self.pos(torch.arange(t, device=x.device))
        return self.out(self.norm(self.enc(h, mask=mask)))


def token_loss_sum(logits, y):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PAD, reduction="sum")


@torch.no_grad()
def validate(model, data, cfg):
    model.eval()
    gen = torch.Generator().manual_seed(1)
    total, count = 0.0, 0
    for _ in range(8):
        x, y = sample_batch(data, cfg.micro_batch, gen)
        x, y = x.to(cfg.device), y.to(cfg.device)
        total += token_loss_sum(model(x), y).item()
        count += (y != PAD).sum().item()
    model.train()
    return total / count


def train(cfg):
    torch.manual_seed(cfg.seed)
    data, vocab = load_documents(cfg)
    split = int(0.9 * len(data))
    train_set, val_set = data[:split], data[split:]
    model = CharLM(vocab, cfg).to(cfg.device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.01)
    gen = torch.Generator().manual_seed(cfg.seed)
    model.train()
    for update in range(1, cfg.updates + 1):
        batches = [sample_batch(train_set, cfg.micro_batch, gen) for _ in range(cfg.accum)]
        n_tokens = sum((y != PAD).sum().item() for _, y in batches)
        opt.zero_grad()
        nll = 0.0
        for x, y in batches:
            x, y = x.to(cfg.device), y.to(cfg.device)
            loss = token_loss_sum(model(x), y) / n_tokens
            loss.backward()
            nll += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
        opt.step()
        if update % 50 == 0:
            v = validate(model, val_set, cfg)
            print(f"update {update} train {nll:.3f} val {v:.3f} ppl {math.exp(v):.2f}")
    os.makedirs("runs", exist_ok=True)
    torch.save(model.state_dict(), "runs/charlm.pt")


if __name__ == "__main__":
    train(Config())
