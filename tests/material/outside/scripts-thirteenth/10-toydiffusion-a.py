"""DDPM on the two-moons distribution with an MLP denoiser."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def two_moons(n, noise=0.05):
    t = math.pi * torch.rand(n)
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, torch.cos(t), 1 - torch.cos(t))
    y = torch.where(upper, torch.sin(t), 0.5 - torch.sin(t))
    pts = torch.stack([x - 0.5, y - 0.25], 1) * 1.5
    return pts + noise * torch.randn(n, 2)


class Denoiser(nn.Module):
    def __init__(self, dim=96, t_dim=32):
        super().__init__()
        self.t_dim = t_dim
        self.inp = nn.Linear(2 + t_dim, dim)
        self.mid = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 2)

    def time_embedding(self, t):
        half = self.t_dim // 2
        freqs = torch.exp(-math.log(1000) * torch.arange(half, device=t.device) / half)
        ang = t[:, None].float() * freqs
        return torch.cat([ang.sin(), ang.cos()], 1)

    def forward(self, x, t):
        h = F.silu(self.inp(torch.cat([x, self.time_embedding(t)], 1)))
        h = h + F.silu(self.mid(h))
        return self.out(h)


class Schedule:
    def __init__(self, steps):
        beta = torch.linspace(1e-4, 0.05, steps)
        self.beta, self.alpha = beta, 1 - beta
        self.abar = torch.cumprod(self.alpha, 0)
        self.steps = steps

    def q_sample(self, x0, t, eps):
        a = self.abar[t][:, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * eps

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i)
            eps = model(x, t)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / self.alpha[i].sqrt()
            if i > 0:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x


@torch.no_grad()
def update_ema(ema, model, decay):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.lerp_(p, 1 - decay)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=800)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--clip", type=float, default=0.1)
    ap.add_argument("--timesteps", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(0)

    sched = Schedule(args.timesteps)
    model = Denoiser()
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    avg, norms = 0.0, []
    model.train()
    for it in range(1, args.iters + 1):
        x0 = two_moons(args.batch)
        t = torch.randint(0, args.timesteps, (args.batch,))
        eps = torch.randn_like(x0)
        loss = F.mse_loss(model(sched.q_sample(x0, t, eps), t), eps)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), args.clip).item())
        opt.step()
        update_ema(ema, model, 0.99)
        avg += loss.item()
        if it % 200 == 0:
            print(f"{it}: loss {avg / 200:.4f} mean grad norm {sum(norms) / len(norms):.3f}")
            avg, norms = 0.0, []
    ema.eval()
    pts = sched.sample(ema, 500)
    print("sample mean", [round(v, 3) for v in pts.mean(0).tolist()], "std", [round(v, 3) for v in pts.std(0).tolist()])


if __name__ == "__main__":
    main()
