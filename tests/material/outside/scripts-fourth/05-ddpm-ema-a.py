"""Unconditional DDPM on 28x28 images stored in one .npy file (N,28,28) uint8."""
import argparse
import copy
import math
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from tqdm import trange


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
    ang = t[:, None].float() * freqs[None]
    return torch.cat([ang.cos(), ang.sin()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, temb):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.n2, self.c2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.emb = nn.Linear(temb, cout)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x))) + self.emb(F.silu(e))[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(h)))


class Denoiser(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.ch = ch
        temb = ch * 4
        self.time = nn.Sequential(nn.Linear(ch, temb), nn.SiLU(), nn.Linear(temb, temb))
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.r1 = ResBlock(ch, ch, temb)
        self.down = nn.Conv2d(ch, ch * 2, 3, 2, 1)
        self.r2 = ResBlock(ch * 2, ch * 2, temb)
        self.up = nn.ConvTranspose2d(ch * 2, ch, 4, 2, 1)
        self.r3 = ResBlock(ch * 2, ch, temb)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        e = self.time(timestep_embedding(t, self.ch))
        a = self.r1(self.inp(x), e)
        b = self.r2(self.down(a), e)
        return self.out(self.r3(torch.cat([self.up(b), a], 1), e))


class Diffusion:
    def __init__(self, steps, device):
        self.steps = steps
        beta = torch.linspace(1e-4, 0.02, steps, device=device)
        self.beta, self.alpha = beta, 1 - beta
        self.abar = torch.cumprod(self.alpha, 0)

    def q_sample(self, x0, t, noise):
        a = self.abar[t][:, None, None, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, n, device):
        x = torch.randn(n, 1, 28, 28, device=device)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i, device=device)
            eps = model(x, t)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / self.alpha[i].sqrt()
            if i > 0:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x.clamp(-1, 1)


@torch.no_grad()
def ema_update(ema, model, decay):
    for pe, p in zip(ema.parameters(), model.parameters()):
        pe.lerp_(p, 1 - decay)
    for be, b in zip(ema.buffers(), model.buffers()):
        be.copy_(b)


def cycle(loader):
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--data', required=True)
    ap.add_argument('--outdir', default='ddpm_out')
    ap.add_argument('--steps', type=int, default=50_000)
    ap.add_argument('--bs', type=int, default=128)
    ap.add_argument('--lr', type=float, default=2e-4)
    ap.add_argument('--warmup', type=int, default=1000)
    ap.add_argument('--clip', type=float, default=1.0)
    ap.add_argument('--ema', type=float, default=0.999)
    ap.add_argument('--timesteps', type=int, default=1000)
    ap.add_argument('--ch', type=int, default=64)
    ap.add_argument('--save-every', type=int, default=5000)
    args = ap.parse_args()

    dev = 'cuda' if torch.cuda.is_available() else 'cpu'
    os.makedirs(args.outdir, exist_ok=True)
    x = torch.from_numpy(np.load(args.data)).float().unsqueeze(1) / 127.5 - 1
    batches = cycle(DataLoader(TensorDataset(x), args.bs, shuffle=True, drop_last=True))

    model = Denoiser(args.ch).to(dev)
    ema = copy.deepcopy(model).eval().requires_grad_(False)
    diff = Diffusion(args.timesteps, dev)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / args.warmup))

    pbar = trange(1, args.steps + 1)
    for step in pbar:
        (x0,) = next(batches)
        x0 = x0.to(dev)
        t = torch.randint(0, args.timesteps, (x0.size(0),), device=dev)
        noise = torch.randn_like(x0)
        pred = model(diff.q_sample(x0, t, noise), t)
        loss = F.mse_loss(pred, noise)

        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        opt.step()
        sched.step()
        ema_update(ema, model, args.ema)

        if step % 50 == 0:
            pbar.set_postfix(loss=f'{loss.item():.4f}', gnorm=f'{gn.item():.2f}')
        if step % args.save_every == 0:
            torch.save({'model': model.state_dict(), 'ema': ema.state_dict(), 'opt': opt.state_dict(),
                        'step': step}, f'{args.outdir}/ckpt_{step}.pt')
            imgs = diff.sample(ema, 16, dev)
            np.save(f'{args.outdir}/samples_{step}.npy', imgs.cpu().numpy())


if __name__ == '__main__':
    main()
