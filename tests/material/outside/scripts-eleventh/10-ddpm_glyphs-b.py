"""Class-conditional DDPM on 32x32 glyph images stored as glyphs.npy (N,32,32) uint8 + labels.npy (N,)."""
import argparse
import copy
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Glyphs(Dataset):
    def __init__(self, root):
        self.x = np.load(os.path.join(root, "glyphs.npy"), mmap_mode="r")
        self.y = np.load(os.path.join(root, "labels.npy"))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = torch.from_numpy(np.array(self.x[i], dtype=np.float32))[None] / 127.5 - 1
        return img, int(self.y[i])


def time_features(t, dim):
    freq = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    arg = t[:, None].float() * freq[None]
    return torch.cat([arg.sin(), arg.cos()], -1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, cond):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.n2, self.c2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.emb = nn.Linear(cond, 2 * cout)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, c):
        h = self.c1(F.silu(self.n1(x)))
        scale, shift = self.emb(c)[:, :, None, None].chunk(2, 1)
        h = self.c2(F.silu(self.n2(h) * (1 + scale) + shift))
        return self.skip(x) + h


class Denoiser(nn.Module):
    def __init__(self, n_cls, ch=64, cond=256):
        super().__init__()
        self.ch, self.null = ch, n_cls
        self.cls = nn.Embedding(n_cls + 1, cond)
        self.time = nn.Sequential(nn.Linear(ch, cond), nn.SiLU(), nn.Linear(cond, cond))
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.d1, self.d2 = ResBlock(ch, ch, cond), ResBlock(ch, 2 * ch, cond)
        self.mid = ResBlock(2 * ch, 2 * ch, cond)
        self.u2, self.u1 = ResBlock(4 * ch, ch, cond), ResBlock(2 * ch, ch, cond)
        self.out = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, 1, 3, padding=1))

    def forward(self, x, t, y):
        c = F.silu(self.time(time_features(t, self.ch)) + self.cls(y))
        h1 = self.d1(self.inp(x), c)
        h2 = self.d2(F.avg_pool2d(h1, 2), c)
        m = self.mid(F.avg_pool2d(h2, 2), c)
        u = self.u2(torch.cat([F.interpolate(m, scale_factor=2), h2], 1), c)
        u = self.u1(torch.cat([F.interpolate(u, scale_factor=2), h1], 1), c)
        return self.out(u)


class Diffusion:
    def __init__(self, steps, device):
        s = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
        f = torch.cos((s + 0.008) / 1.008 * math.pi / 2) ** 2
        betas = (1 - f[1:] / f[:-1]).clamp(max=0.999)
        self.steps = steps
        self.abar = torch.cumprod(1 - betas, 0).float().to(device)

    def loss(self, model, x, y, p_uncond):
        t = torch.randint(0, self.steps, (len(x),), device=x.device)
        eps = torch.randn_like(x)
        a = self.abar[t].view(-1, 1, 1, 1)
        drop = torch.rand(len(x), device=x.device) < p_uncond
        y = torch.where(drop, torch.full_like(y, model.null), y)
        return F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * eps, t, y), eps)


@torch.no_grad()
def ema_update(ema, model, decay):
    for pe, p in zip(ema.parameters(), model.parameters()):
        pe.lerp_(p, 1 - decay)


def endless(loader):
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--out", default="ddpm")
    ap.add_argument("--iters", type=int, default=50000)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--warmup", type=int, default=500)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--ema", type=float, default=0.9995)
    ap.add_argument("--T", type=int, default=1000)
    ap.add_argument("--save-every", type=int, default=2000)
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    ds = Glyphs(args.root)
    n_val = max(1, len(ds) // 20)
    train, val = torch.utils.data.random_split(ds, [len(ds) - n_val, n_val], torch.Generator().manual_seed(0))
    batches = endless(DataLoader(train, args.batch, shuffle=True, drop_last=True))
    val_dl = DataLoader(val, args.batch)

    model = Denoiser(int(ds.y.max()) + 1).to(device)
    ema = copy.deepcopy(model).eval().requires_grad_(False)
    diff = Diffusion(args.T, device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.99), weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: min(1.0, (k + 1) / args.warmup))

    avg_loss = 0.0
    for it in range(1, args.iters + 1):
        model.train()
        for _ in range(args.accum):
            x, y = next(batches)
            loss = diff.loss(model, x.to(device), y.to(device), 0.1) / args.accum
            loss.backward()
            avg_loss += loss.item()
            gnorm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        opt.step()
        opt.zero_grad(set_to_none=True)
        sched.step()
        ema_update(ema, model, args.ema)

        if it % 100 == 0:
            print(f"iter {it} loss {avg_loss / 100:.4f} gnorm {gnorm:.3f} lr {sched.get_last_lr()[0]:.2e}")
            avg_loss = 0.0
        if it % args.save_every == 0:
            with torch.no_grad():
                v = sum(diff.loss(ema, a.to(device), b.to(device), 0.0).item() for a, b in val_dl) / len(val_dl)
            print(f"iter {it} val(ema) {v:.4f}")
            torch.save({"model": model.state_dict(), "ema": ema.state_dict(), "it": it},
                       os.path.join(args.out, f"ckpt_{it:06d}.pt"))


if __name__ == "__main__":
    main()
