"""Adapter-style tuning: frozen embeddings, activation checkpointing through the trunk."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = nn.MultiheadAttention(d, h, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        h = self.n1(x)
        x = x + self.att(h, h, h, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class Encoder(nn.Module):
    def __init__(self, vocab=200, d=64, depth=2, h=4, classes=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(64, d)
        self.trunk = nn.ModuleList([Block(d, h) for _ in range(depth)])
        self.head = nn.Linear(d, classes)

    def forward(self, ids):
        x = self.emb(ids) + self.pos(torch.arange(ids.size(1)))
        x = checkpoint(self._run_trunk, x, use_reentrant=False)
        return self.head(x.mean(1))

    def _run_trunk(self, x):
        for b in self.trunk:
            x = b(x)
        return x


def batches(n, bs=32):
    g = torch.Generator().manual_seed(5)
    for _ in range(n):
        ids = torch.randint(0, 200, (bs, 32), generator=g)
        yield ids, (ids.float().mean(1) // 8).long().clamp(10, 13) - 10


def main():
    torch.manual_seed(0)
    model = Encoder()
    # embeddings come from the pretrained checkpoint and stay fixed
    model.emb.requires_grad_(False)
    model.pos.requires_grad_(False)
    opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
    model.train()
    for step, (ids, y) in enumerate(batches(30)):
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 10 == 0:
            print(f'step {step} loss {loss.item():.4f}')


main()
