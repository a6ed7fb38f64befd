"""Denoising diffusion on 2-D point clouds (csv with x,y), EMA weights for sampling."""
import argparse
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freq", torch.exp(torch.linspace(0, math.log(1000.0), dim // 2)))

    def forward(self, t):
        a = t[:, None] * self.freq
        return torch.cat([a.sin(), a.cos()], 1)


class Denoiser(nn.Module):
    def __init__(self, dim=128, blocks=3):
        super().__init__()
        self.time = nn.Sequential(TimeEmbedding(64), nn.Linear(64, dim), nn.SiLU())
        self.inp = nn.Linear(2, dim)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.SiLU(),
                                                  nn.Linear(dim, dim)) for _ in range(blocks))
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        h, e = self.inp(x), self.time(t)
        for b in self.blocks:
            h = h + b(h + e)
        return self.out(h)


class EMA:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p, 1 - d)

    @torch.no_grad()
    def swap_in(self, model):
        for n, p in model.named_parameters():
            self.backup[n] = p.detach().clone()
            p.copy_(self.shadow[n])

    @torch.no_grad()
    def swap_out(self, model):
        for n, p in model.named_parameters():
            p.copy_(self.backup.pop(n))


class Diffusion:
    def __init__(self, steps, device):
        self.T = steps
        s = 0.008
        f = torch.cos((torch.arange(steps + 1, dtype=torch.float64) / steps + s) / (1 + s) * math.pi / 2) ** 2
        beta = (1 - f[1:] / f[:-1]).clamp(max=0.999).float().to(device)
        self.beta, self.alpha = beta, 1 - beta
        self.abar = self.alpha.cumprod(0)

    def loss(self, net, x0):
        t = torch.randint(self.T, (len(x0),), device=x0.device)
        noise = torch.randn_like(x0)
        a = self.abar[t][:, None]
        return F.mse_loss(net(a.sqrt() * x0 + (1 - a).sqrt() * noise, (t + 1).float() / self.T), noise)

    @torch.no_grad()
    def sample(self, net, n, device, generator=None):
        x = torch.randn(n, 2, generator=generator).to(device)
        for i in reversed(range(self.T)):
            t = torch.full((n,), (i + 1) / self.T, device=device)
            eps = net(x, t)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / self.alpha[i].sqrt()
            if i:
                x = x + self.beta[i].sqrt() * torch.randn(n, 2, generator=generator).to(device)
        return x


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("csv")
    ap.add_argument("--steps", type=int, default=20000)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--T", type=int, default=100)
    ap.add_argument("--ema", type=float, default=0.999)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--sample-every", type=int, default=1000)
    ap.add_argument("--outdir", default="ddpm")
    args = ap.parse_args()

    os.makedirs(args.outdir, exist_ok=True)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    X = np.loadtxt(args.csv, delimiter=",", skiprows=1, dtype=np.float32)
    X = torch.from_numpy((X - X.mean(0)) / X.std(0)).to(device)

    net, diff = Denoiser().to(device), Diffusion(args.T, device)
    ema = EMA(net, args.ema)
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)
    running = 0.0
    for step in range(1, args.steps + 1):
        x0 = X[torch.randint(len(X), (args.batch,), device=device)]
        loss = diff.loss(net, x0)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), args.clip)
        opt.step()
        sched.step()
        ema.update(net)
        running += loss.item()

        if step % args.sample_every == 0:
            ema.swap_in(net)
            net.eval()
            pts = diff.sample(net, 1000, device, torch.Generator().manual_seed(1))
            ref = X[torch.randperm(len(X), device=device)[:1000]]
            print(f"{step:6d} loss {running / args.sample_every:.4f} energy distance {energy_distance(pts, ref):.4f}")
            np.savetxt(os.path.join(args.outdir, f"samples_{step:06d}.csv"), pts.cpu().numpy(), delimiter=",")
            net.train()
            ema.swap_out(net)
            running = 0.0
            torch.save({"net": net.state_dict(), "ema": ema.shadow, "opt": opt.state_dict(), "step": step},
                       os.path.join(args.outdir, "last.pt"))


if __name__ == "__main__":
    main()
