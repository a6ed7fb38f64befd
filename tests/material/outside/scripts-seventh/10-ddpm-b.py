"""Denoising diffusion (DDPM, eps-prediction) on 16x16 synthetic textures.

Gradients of `accum` micro batches are averaged for each update; an exponential moving average
of the weights is used for sampling.
"""
import copy
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Cfg:
    size: int = 16
    channels: int = 48
    timesteps: int = 400
    batch_size: int = 32
    accum: int = 4
    updates: int = 4000
    lr: float = 2e-4
    warmup: int = 200
    ema_decay: float = 0.999
    clip: float = 1.0
    log_every: int = 50
    sample_every: int = 1000
    seed: int = 0


def batch_of_textures(n, size, device):
    g = torch.linspace(0, 2 * math.pi, size, device=device)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    f = torch.randint(1, 4, (n, 2, 1, 1), device=device)
    ph = torch.rand(n, 1, 1, device=device) * 2 * math.pi
    return torch.sin(f[:, 0] * xx + f[:, 1] * yy + ph).unsqueeze(1)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.SiLU(), nn.Linear(dim * 2, dim * 2))

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
        ang = t.float()[:, None] * freqs
        return self.mlp(torch.cat([ang.sin(), ang.cos()], 1))


class ResBlock(nn.Module):
    def __init__(self, ch, tdim):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, ch), nn.Conv2d(ch, ch, 3, padding=1)
        self.t = nn.Linear(tdim, ch)
        self.n2, self.c2 = nn.GroupNorm(8, ch), nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x, emb):
        h = self.c1(F.silu(self.n1(x))) + self.t(emb)[:, :, None, None]
        return x + self.c2(F.silu(self.n2(h)))


class Denoiser(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.temb = TimeEmbedding(ch)
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.down = ResBlock(ch, 2 * ch)
        self.mid = nn.ModuleList([ResBlock(ch, 2 * ch) for _ in range(2)])
        self.up = ResBlock(ch, 2 * ch)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        e = self.temb(t)
        h0 = self.down(self.inp(x), e)
        h = F.avg_pool2d(h0, 2)
        for m in self.mid:
            h = m(h, e)
        h = F.interpolate(h, scale_factor=2) + h0
        return self.out(F.silu(self.up(h, e)))


class Diffusion:
    def __init__(self, timesteps, device):
        beta = torch.linspace(1e-4, 0.03, timesteps, device=device)
        self.T, self.beta = timesteps, beta
        self.alpha = 1 - beta
        self.abar = torch.cumprod(self.alpha, 0)

    def q_sample(self, x0, t, noise):
        a = self.abar[t].view(-1, 1, 1, 1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, shape, device):
        x = torch.randn(shape, device=device)
        for i in reversed(range(self.T)):
            t = torch.full((shape[0],), i, device=device)
            eps = model(x, t)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / self.alpha[i].sqrt()
            if i > 0:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x


@torch.no_grad()
def ema_update(ema, model, decay):
    for pe, p in zip(ema.parameters(), model.parameters()):
        pe.mul_(decay).add_(p, alpha=1 - decay)


def train(cfg: Cfg):
    torch.manual_seed(cfg.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Denoiser(cfg.channels).to(device)
    ema = copy.deepcopy(model).requires_grad_(False)
    diffusion = Diffusion(cfg.timesteps, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / cfg.warmup))

    avg = 0.0
    for update in range(cfg.updates):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(cfg.accum):
            x0 = batch_of_textures(cfg.batch_size, cfg.size, device)
            t = torch.randint(cfg.timesteps, (cfg.batch_size,), device=device)
            noise = torch.randn_like(x0)
            loss = F.mse_loss(model(diffusion.q_sample(x0, t, noise), t), noise) / cfg.accum
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
        optimizer.step()
        scheduler.step()
        ema_update(ema, model, min(cfg.ema_decay, (1 + update) / (10 + update)))

        avg = total if update == 0 else 0.98 * avg + 0.02 * total
        if update % cfg.log_every == 0:
            print(f"update {update} loss {avg:.4f} lr {scheduler.get_last_lr()[0]:.2e}")
        if (update + 1) % cfg.sample_every == 0:
            samples = diffusion.sample(ema, (8, 1, cfg.size, cfg.size), device)
            torch.save({"model": model.state_dict(), "ema": ema.state_dict(), "samples": samples.cpu()}, "ddpm.pt")


if __name__ == "__main__":
    train(Cfg())
