# Character-level transformer LM, mixed precision.
import argparse
import math
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.proj(a.transpose(1, 2).reshape(B, T, C)))
        return x + self.drop(self.mlp(self.ln2(x)))


class CharLM(nn.Module):
    def __init__(self, vocab, dim=64, depth=2, heads=4, ctx=64, dropout=0.0):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(ctx, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, dropout) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos[: idx.size(1)]
        for b in self.blocks:
            x = b(x)
        return self.out(self.norm(x))


def get_batch(data, batch, ctx, gen):
    ix = torch.randint(len(data) - ctx - 1, (batch,), generator=gen)
    x = torch.stack([data[i:i + ctx] for i in ix])
    y = torch.stack([data[i + 1:i + 1 + ctx] for i in ix])
    return x, y


@torch.no_grad()
def estimate(model, data, ctx, device, n=8):
    model.eval()
    gen = torch.Generator().manual_seed(99)
    tot = 0.0
    for _ in range(n):
        x, y = get_batch(data, 32, ctx, gen)
        logits = model(x.to(device))
        tot += F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten()).item()
    model.train()
    return tot / n


def lr_at(step, total, peak, warmup):
    if step < warmup:
        return peak * (step + 1) / warmup
    t = (step - warmup) / max(1, total - warmup)
    return 0.1 * peak + 0.45 * peak * (1 + math.cos(math.pi * t))


@torch.no_grad()
def sample(model, stoi, itos, prompt, n, ctx, device):
    model.eval()
    idx = torch.tensor([[stoi[c] for c in prompt]], device=device)
    for _ in range(n):
        logits = model(idx[:, -ctx:])[:, -1]
        nxt = torch.multinomial(F.softmax(logits / 0.8, -1), 1)
        idx = torch.cat([idx, nxt], 1)
    model.train()
    return "".join(itos[i] for i in idx[0].tolist())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--text", type=Path, default=Path("data/corpus.txt"))
    ap.add_argument("--steps", type=int, default=300)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--ctx", type=int, default=64)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--warmup", type=int, default=20)
    ap.add_argument("--grad-clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=1337)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    amp_dtype = torch.float16 if device == "cuda" else torch.bfloat16

    text = args.text.read_text()
    chars = sorted(set(text))
    stoi = {c: i for i, c in enumerate(chars)}
    itos = dict(enumerate(chars))
    data = torch.tensor([stoi[c] for c in text])
    split = int(0.9 * len(data))
    train_data, val_data = data[:split], data[split:]

    model = CharLM(len(chars), ctx=args.ctx).to(device)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.SGD([{"params": decay, "weight_decay": 1e-4},
                                 {"params": rest, "weight_decay": 0.0}],
                                lr=args.lr, momentum=0.9)
    scaler = torch.amp.GradScaler(device)
    gen = torch.Generator().manual_seed(args.seed)

    running = 0.0
    for step in range(args.steps):
        lr = lr_at(step, args.steps, args.lr, args.warmup)
        for g in optimizer.param_groups:
            g["lr"] = lr
        x, y = get_batch(train_data, args.batch, args.ctx, gen)
        x, y = x.to(device), y.to(device)

        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, dtype=amp_dtype):
            logits = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), y.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        scaler.step(optimizer)
        scaler.update()

        running += loss.item()
        if (step + 1) % 50 == 0:
            val = estimate(model, val_data, args.ctx, device)
            print(f"step {step + 1} lr {lr:.3f} train {running / 50:.3f} val {val:.3f}")
            running = 0.0
    print(sample(model, stoi, itos, "the ", 120, args.ctx, device))


if __name__ == "__main__":
    main()
