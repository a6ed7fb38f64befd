"""Denoising diffusion on two dimensional points, sampled from averaged weights."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def spiral(n, gen):
    t = 1.5 * math.pi * (1 + 2 * torch.rand(n, generator=gen))
    pts = torch.stack([t * t.cos(), t * t.sin()], 1) / 8
    return pts + 0.02 * torch.randn(n, 2, generator=gen)


class Schedule:
    def __init__(self, steps):
        self.steps = steps
        self.beta = torch.linspace(1e-3, 0.15, steps)
        self.alpha = 1 - self.beta
        self.abar = self.alpha.cumprod(0)

    def noisy(self, x, t, eps):
        a = self.abar[t][:, None]
        return a.sqrt() * x + (1 - a).sqrt() * eps


class Denoiser(nn.Module):
    def __init__(self, steps, hidden=96):
        super().__init__()
        self.time = nn.Embedding(steps, 24)
        self.net = nn.Sequential(
            nn.Linear(26, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


class Average:
    """Exponential moving average of the weights."""

    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, source):
        for a, p in zip(self.model.parameters(), source.parameters()):
            a.lerp_(p, 1 - self.decay)


@torch.no_grad()
def sample(model, sched, n):
    x = torch.randn(n, 2)
    for t in reversed(range(sched.steps)):
        tt = torch.full((n,), t)
        eps = model(x, tt)
        x = (x - sched.beta[t] / (1 - sched.abar[t]).sqrt() * eps) / sched.alpha[t].sqrt()
        if t:
            x = x + sched.beta[t].sqrt() * torch.randn_like(x)
    return x


def chamfer(a, b):
    d = torch.cdist(a, b)
    return (d.min(0).values.mean() + d.min(1).values.mean()).item()


def train(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    sched = Schedule(args.diffusion_steps)
    model = Denoiser(args.diffusion_steps)
    ema = Average(model, args.ema)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    lr_sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.updates)

    micro, running = 0, 0.0
    opt.zero_grad(set_to_none=True)
    while micro < args.updates * args.accum:
        x = spiral(args.batch, gen)
        t = torch.randint(0, sched.steps, (args.batch,))
        eps = torch.randn_like(x)
        loss = F.mse_loss(model(sched.noisy(x, t, eps), t), eps)
        (loss / args.accum).backward()
        running += loss.item() / args.accum
        micro += 1
        if micro % args.accum == 0:
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            lr_sched.step()
            opt.zero_grad(set_to_none=True)
            done = micro // args.accum
            if done % args.log_every == 0:
                print(f"update {done:5d} loss {running / args.log_every:.4f} lr {lr_sched.get_last_lr()[0]:.2e}")
                running = 0.0
        ema.update(model)
    ref = spiral(512, gen)
    for name, m in (("last", model.eval()), ("averaged", ema.model)):
        print(f"{name:9s} chamfer {chamfer(sample(m, sched, 512), ref):.4f}")
    return model, ema


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=400)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--diffusion-steps", type=int, default=40)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--ema", type=float, default=0.99)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--log-every", type=int, default=100)
    ap.add_argument("--seed", type=int, default=0)
    train(ap.parse_args())


if __name__ == "__main__":
    main()
