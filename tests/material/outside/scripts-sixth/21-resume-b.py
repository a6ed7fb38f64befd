"""MLP-Mixer style classifier with resumable training (`--resume last.pt` continues the same run)."""
import argparse
import math
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.ch = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.tok(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.ch(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, patch=4, size=16, dim=48, depth=3, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(1, dim, patch, patch)
        self.blocks = nn.Sequential(*[MixerBlock((size // patch) ** 2, dim) for _ in range(depth)])
        self.norm, self.fc = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.fc(self.norm(self.blocks(x)).mean(1))


def gratings(n, seed, classes=5, size=16):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    ang = y.float() * math.pi / classes
    r = torch.arange(size).float()
    field = r[:, None] * ang.cos()[:, None, None] + r[None] * ang.sin()[:, None, None]
    phase = 6.28 * torch.rand(n, 1, 1, generator=g)
    return (torch.sin(field + phase) + 0.8 * torch.randn(n, size, size, generator=g))[:, None], y


def lr_lambda(warmup, total):
    def fn(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    return fn


def save(path, **objects):
    tmp = path + ".tmp"
    torch.save(objects, tmp)
    os.replace(tmp, path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--warmup-steps", type=int, default=60)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--resume", default="")
    ap.add_argument("--ckpt", default="last.pt")
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y = gratings(3000, 0)
    xv, yv = gratings(600, 1)
    per_epoch = len(x) // args.batch
    model = Mixer().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda(args.warmup_steps, args.epochs * per_epoch))
    start, best = 0, 0.0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["optimizer"])
        sched.load_state_dict(state["scheduler"])
        start, best = state["epoch"] + 1, state["best"]
        print(f"resumed after epoch {state['epoch']}")

    for epoch in range(start, args.epochs):
        model.train()
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(args.seed + epoch))
        total = 0.0
        for b in range(per_epoch):
            idx = order[b * args.batch : (b + 1) * args.batch]
            loss = F.cross_entropy(model(x[idx].to(device)), y[idx].to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            sched.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(xv.to(device)).argmax(1).cpu() == yv).float().mean().item()
        best = max(best, acc)
        print(f"epoch {epoch} loss {total / per_epoch:.4f} acc {acc:.3f} lr {opt.param_groups[0]['lr']:.2e}")
        save(
            args.ckpt, model=model.state_dict(), optimizer=opt.state_dict(), scheduler=sched.state_dict(), epoch=epoch, best=best
        )


if __name__ == "__main__":
    main()
