"""Deep sequence classifier trained with activation checkpointing to save memory.

The inputs are already feature vectors (sensor windows), so there is no embedding table:
the blocks work directly on the input width.
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint_sequential


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, mlp_ratio=2, dropout=0.1):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, mlp_ratio * dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_ratio * dim, dim)
        )

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class SensorClassifier(nn.Module):
    def __init__(self, dim, n_classes, depth=6, heads=2, segments=3):
        super().__init__()
        self.blocks = nn.Sequential(*[EncoderBlock(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, n_classes)
        self.segments = segments

    def forward(self, x):
        if self.training and self.segments > 1:
            x = checkpoint_sequential(self.blocks, self.segments, x, use_reentrant=True)
        else:
            x = self.blocks(x)
        return self.head(self.norm(x).mean(1))


def make_windows(n, length, dim, n_classes):
    y = torch.randint(0, n_classes, (n,))
    t = torch.linspace(0, 6.28, length)
    freqs = 1 + torch.arange(n_classes).float()
    mix = torch.randn(n_classes, dim)
    wave = torch.sin(freqs[y][:, None] * t + 6.28 * torch.rand(n, 1))
    x = wave.unsqueeze(-1) * mix[y].unsqueeze(1) + 0.8 * torch.randn(n, length, dim)
    return x, y


def lr_at(step, total, base, warmup):
    if step < warmup:
        return base * (step + 1) / warmup
    return base * max(0.05, 1 - (step - warmup) / (total - warmup))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--micro-batch", type=int, default=16)
    ap.add_argument("--grad-accum", type=int, default=2)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--depth", type=int, default=6)
    ap.add_argument("--segments", type=int, default=3)
    args = ap.parse_args()

    torch.manual_seed(33)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dim, classes = 16, 4
    x, y = make_windows(768, 20, dim, classes)
    x_tr, y_tr, x_va, y_va = x[:640], y[:640], x[640:].to(device), y[640:].to(device)

    model = SensorClassifier(dim, classes, args.depth, segments=args.segments).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)

    effective = args.micro_batch * args.grad_accum
    steps_per_epoch = len(x_tr) // effective
    total_steps, step = args.epochs * steps_per_epoch, 0
    for epoch in range(args.epochs):
        tic = time.perf_counter()
        model.train()
        order = torch.randperm(len(x_tr))
        epoch_loss = 0.0
        for s in range(steps_per_epoch):
            for group in opt.param_groups:
                group["lr"] = lr_at(step, total_steps, args.lr, warmup=8)
            opt.zero_grad()
            batch = order[s * effective : (s + 1) * effective]
            for micro in batch.split(args.micro_batch):
                out = model(x_tr[micro].to(device))
                loss = F.cross_entropy(out, y_tr[micro].to(device), reduction="sum") / len(batch)
                loss.backward()
                epoch_loss += loss.item()
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            opt.step()
            step += 1

        model.eval()
        with torch.no_grad():
            acc = (model(x_va).argmax(-1) == y_va).float().mean().item()
        print(f"epoch {epoch}: loss {epoch_loss / steps_per_epoch:.4f} val acc {acc:.3f} ({time.perf_counter() - tic:.1f}s)")


if __name__ == "__main__":
    main()
