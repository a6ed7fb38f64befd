"""Self-attentive sequential recommendation on simulated sessions."""
import random
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    n_users: int = 1500
    n_items: int = 120
    max_len: int = 20
    dim: int = 48
    heads: int = 2
    layers: int = 2
    dropout: float = 0.1
    batch_size: int = 64
    epochs: int = 8
    lr: float = 2e-3
    seed: int = 4


def simulate(cfg):
    """Sessions from a sparse second order item-to-item chain; ids start at 1, 0 pads."""
    rng = np.random.default_rng(cfg.seed)
    follow = rng.integers(1, cfg.n_items + 1, size=(cfg.n_items + 1, 4))
    pop = rng.dirichlet(np.full(cfg.n_items, 0.6))
    sessions = []
    for _ in range(cfg.n_users):
        n = int(rng.integers(7, cfg.max_len + 4))
        seq = [int(rng.choice(cfg.n_items, p=pop)) + 1]
        while len(seq) < n:
            if rng.random() < 0.8:
                j = (seq[-2] if len(seq) > 1 else 0) % 2 * 2 + int(rng.random() < 0.25)
                seq.append(int(follow[seq[-1], j]))
            else:
                seq.append(int(rng.choice(cfg.n_items, p=pop)) + 1)
        sessions.append(seq)
    return sessions


def pad_right(seqs, width):
    out = torch.zeros(len(seqs), width, dtype=torch.long)
    for i, s in enumerate(seqs):
        s = s[-width:]
        out[i, :len(s)] = torch.tensor(s)
    return out


class SASRec(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.item = nn.Embedding(cfg.n_items + 1, cfg.dim, padding_idx=0)
        self.pos = nn.Embedding(cfg.max_len, cfg.dim)
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 2 * cfg.dim, cfg.dropout,
                                           activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg.dim)
        self.drop = nn.Dropout(cfg.dropout)
        nn.init.normal_(self.item.weight, std=0.05)
        nn.init.normal_(self.pos.weight, std=0.05)
        with torch.no_grad():
            self.item.weight[0].zero_()

    def forward(self, seq):
        L = seq.size(1)
        h = self.drop(self.item(seq) + self.pos(torch.arange(L)))
        h = self.encoder(h, src_key_padding_mask=seq == 0)
        return self.norm(h)

    def scores(self, h):
        return h @ self.item.weight.t()


def split(sessions):
    """leave-one-out: last item test, the one before validation"""
    train = [s[:-2] for s in sessions]
    val = [(s[:-2], s[-2]) for s in sessions]
    test = [(s[:-1], s[-1]) for s in sessions]
    return train, val, test


@torch.no_grad()
def hit_and_ndcg(model, pairs, cfg, k=10):
    model.eval()
    hits = ndcg = 0.0
    for a in range(0, len(pairs), 256):
        chunk = pairs[a:a + 256]
        seq = pad_right([s for s, _ in chunk], cfg.max_len)
        last = (seq != 0).sum(1) - 1
        h = model(seq)[torch.arange(len(chunk)), last]
        s = model.scores(h)
        s[:, 0] = float("-inf")
        target = torch.tensor([t for _, t in chunk])
        rank = (s > s.gather(1, target[:, None])).sum(1)
        hits += (rank < k).float().sum().item()
        ndcg += torch.where(rank < k, 1 / torch.log2(rank + 2.0), torch.zeros(())).sum().item()
    return hits / len(pairs), ndcg / len(pairs)


def train(cfg):
    random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    train_seqs, val, test = split(simulate(cfg))
    model = SASRec(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-4)

    best, best_state = 0.0, None
    for epoch in range(cfg.epochs):
        model.train()
        random.shuffle(train_seqs)
        total, steps = 0.0, 0
        for a in range(0, len(train_seqs), cfg.batch_size):
            batch = train_seqs[a:a + cfg.batch_size]
            inp = pad_right([s[:-1] for s in batch], cfg.max_len)
            tgt = pad_right([s[1:] for s in batch], cfg.max_len)
            logits = model.scores(model(inp))
            loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            steps += 1
        hr, ndcg = hit_and_ndcg(model, val, cfg)
        print(f"epoch {epoch:2d} loss {total / steps:.4f} val HR@10 {hr:.4f} NDCG@10 {ndcg:.4f}")
        if ndcg > best:
            best = ndcg
            best_state = {k: v.clone() for k, v in model.state_dict().items()}

    model.load_state_dict(best_state)
    hr, ndcg = hit_and_ndcg(model, test, cfg)
    print(f"test HR@10 {hr:.4f} NDCG@10 {ndcg:.4f}")
    torch.save(best_state, "sasrec.pt")


if __name__ == "__main__":
    train(Config())
