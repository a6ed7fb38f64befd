"""Character-level language model on data/proverbs.txt, trained with gradient accumulation."""
import argparse
import math
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = Path(__file__).resolve().parent


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, vocab, ctx, dim=64, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(ctx, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.out = nn.Linear(dim, vocab)
        self.register_buffer("mask", torch.triu(torch.full((ctx, ctx), float("-inf")), 1))

    def forward(self, idx):
        t = idx.size(1)
        x = self.tok(idx) + self.pos[:t]
        for b in self.blocks:
            x = b(x, self.mask[:t, :t])
        return self.out(x)


def sample_batch(data, bs, ctx, gen):
    ix = torch.randint(0, len(data) - ctx - 1, (bs,), generator=gen)
    x = torch.stack([data[i:i + ctx] for i in ix])
    y = torch.stack([data[i + 1:i + ctx + 1] for i in ix])
    return x, y


@torch.no_grad()
def validate(model, data, ctx):
    model.eval()
    gen = torch.Generator().manual_seed(99)
    losses = []
    for _ in range(10):
        x, y = sample_batch(data, 16, ctx, gen)
        losses.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    model.train()
    return sum(losses) / len(losses)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--text", default=str(HERE / "data" / "proverbs.txt"))
    ap.add_argument("--updates", type=int, default=60)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--micro", type=int, default=8)
    ap.add_argument("--ctx", type=int, default=48)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--clip", type=float, default=0.25)
    args = ap.parse_args()

    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(1)
    text = Path(args.text).read_text(encoding="utf-8")
    chars = sorted(set(text))
    stoi = {c: i for i, c in enumerate(chars)}
    ids = torch.tensor([stoi[c] for c in text])
    cut = int(0.9 * len(ids))
    train, val = ids[:cut], ids[cut:]

    model = CharLM(len(chars), args.ctx)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    model.train()
    for update in range(args.updates):
        for g in opt.param_groups:
            g["lr"] = args.lr * 0.5 * (1 + math.cos(math.pi * update / args.updates))
        opt.zero_grad(set_to_none=True)
        total = 0.0
        for _ in range(args.accum):
            x, y = sample_batch(train, args.micro, args.ctx, gen)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / args.accum
            loss.backward()
            total += loss.item()
            gnorm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        opt.step()
        if (update + 1) % 20 == 0:
            print(f"update {update + 1}: train {total:.3f} val {validate(model, val, args.ctx):.3f} gnorm {gnorm:.2f}")


if __name__ == "__main__":
    main()
