"""Character GPT with gradient accumulation (dataclass config)."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab: int = 27
    block: int = 16
    n_embd: int = 32
    n_head: int = 2
    n_layer: int = 2
    micro_batch: int = 4
    accum: int = 4
    steps: int = 12
    lr: float = 1e-2
    warmup: int = 3
    grad_clip: float = 5.0


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.qkv = nn.Linear(c.n_embd, 3 * c.n_embd)
        self.proj = nn.Linear(c.n_embd, c.n_embd)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))
        self.h = c.n_head

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C)
        x = x + self.proj(y)
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok, self.pos = nn.Embedding(c.vocab, c.n_embd), nn.Embedding(c.block, c.n_embd)
        self.blocks = nn.Sequential(*[Block(c) for _ in range(c.n_layer)])
        self.ln = nn.LayerNorm(c.n_embd)
        self.head = nn.Linear(c.n_embd, c.vocab, bias=False)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        logits = self.head(self.ln(self.blocks(x)))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def get_batch(data, c):
    ix = torch.randint(len(data) - c.block - 1, (c.micro_batch,))
    x = torch.stack([data[i:i + c.block] for i in ix])
    y = torch.stack([data[i + 1:i + 1 + c.block] for i in ix])
    return x, y


def get_lr(it, c):
    if it < c.warmup:
        return c.lr * (it + 1) / c.warmup
    ratio = (it - c.warmup) / (c.steps - c.warmup)
    return 0.1 * c.lr + 0.45 * c.lr * (1 + math.cos(math.pi * ratio))


if __name__ == "__main__":
    torch.manual_seed(1337)
    cfg = Config()
    text = "the quick brown fox jumps over the lazy dog " * 40
    data = torch.tensor([0 if ch == " " else ord(ch) - 96 for ch in text])
    model = GPT(cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    for it in range(cfg.steps):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it, cfg)
        total = 0.0
        for _ in range(cfg.accum):
            x, y = get_batch(data, cfg)
            loss = model(x, y) / cfg.accum
            total += loss.item()
            loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"iter {it} loss {total:.4f} norm {norm:.3f}")
