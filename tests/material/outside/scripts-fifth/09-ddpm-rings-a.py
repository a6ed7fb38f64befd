import argparse
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rings(n, size, seed):
    g = torch.Generator().manual_seed(seed)
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    c = torch.rand(n, 2, 1, 1, generator=g) * 0.6 - 0.3
    r = torch.rand(n, 1, 1, generator=g) * 0.4 + 0.3
    dist = ((xx - c[:, 0]) ** 2 + (yy - c[:, 1]) ** 2).sqrt()
    img = torch.exp(-((dist - r) ** 2) / 0.01)
    return (img * 2 - 1).unsqueeze(1)


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
    a = t.float()[:, None] * freqs[None]
    return torch.cat([a.sin(), a.cos()], 1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, tdim):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.t = nn.Linear(tdim, cout)
        self.n2, self.c2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, emb):
        h = self.c1(F.silu(self.n1(x))) + self.t(emb)[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(h)))


class TinyUNet(nn.Module):
    def __init__(self, ch=32, tdim=128):
        super().__init__()
        self.tdim = tdim
        self.time = nn.Sequential(nn.Linear(tdim, tdim), nn.SiLU(), nn.Linear(tdim, tdim))
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.d1, self.d2 = ResBlock(ch, ch, tdim), ResBlock(ch, 2 * ch, tdim)
        self.mid = ResBlock(2 * ch, 2 * ch, tdim)
        self.u2, self.u1 = ResBlock(4 * ch, ch, tdim), ResBlock(2 * ch, ch, tdim)
        self.out = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, 1, 3, padding=1))

    def forward(self, x, t):
        e = F.silu(self.time(timestep_embedding(t, self.tdim)))
        a = self.d1(self.inp(x), e)
        b = self.d2(F.avg_pool2d(a, 2), e)
        m = self.mid(b, e)
        u = self.u2(torch.cat([m, b], 1), e)
        u = self.u1(torch.cat([F.interpolate(u, scale_factor=2.0), a], 1), e)
        return self.out(u)


class Diffusion:
    def __init__(self, steps, device):
        beta = torch.linspace(1e-4, 0.02, steps, device=device)
        self.steps = steps
        self.ab = torch.cumprod(1 - beta, 0)

    def loss(self, model, x0):
        t = torch.randint(0, self.steps, (x0.size(0),), device=x0.device)
        eps = torch.randn_like(x0)
        ab = self.ab[t].view(-1, 1, 1, 1)
        return F.mse_loss(model(ab.sqrt() * x0 + (1 - ab).sqrt() * eps, t), eps)


def save(path, model, opt, epoch):
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=3000)
    ap.add_argument("--size", type=int, default=32)
    ap.add_argument("--ch", type=int, default=32)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--ckpt", default="ddpm.pt")
    ap.add_argument("--resume", action="store_true")
    args = ap.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(rings(args.n, args.size, 0)), args.bs, shuffle=True, drop_last=True)
    model = TinyUNet(args.ch).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    diff = Diffusion(1000, device)
    start = 0
    if args.resume and os.path.exists(args.ckpt):
        ck = torch.load(args.ckpt, map_location=device)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["opt"])
        start = ck["epoch"] + 1

    n_batches = len(loader)
    opt.zero_grad(set_to_none=True)
    for epoch in range(start, args.epochs):
        model.train()
        total = 0.0
        for i, (x,) in enumerate(loader):
            loss = diff.loss(model, x.to(device))
            (loss / args.accum).backward()
            total += loss.item()
            if (i + 1) % args.accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad(set_to_none=True)
        print(f"epoch {epoch} loss {total / n_batches:.4f}")
        save(args.ckpt, model, opt, epoch)


if __name__ == "__main__":
    main()
