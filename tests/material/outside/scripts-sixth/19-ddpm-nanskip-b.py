"""DDPM on 2-D point clouds, bf16/fp32, accumulation of `accum` micro-batches.

If the loss of any micro-batch is not finite, the whole update is dropped and the next one starts clean.
"""
import math
from dataclasses import dataclass, asdict

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Cfg:
    timesteps: int = 200
    hidden: int = 128
    micro: int = 128
    accum: int = 2
    updates: int = 1500
    lr: float = 1e-3
    clip: float = 1.0
    max_bad: int = 50
    seed: int = 0
    device: str = "cuda" if torch.cuda.is_available() else "cpu"


class Denoiser(nn.Module):
    def __init__(self, hidden, emb=64):
        super().__init__()
        self.register_buffer("freq", torch.exp(-math.log(1e4) * torch.arange(emb // 2) / (emb // 2)))
        self.inp = nn.Linear(2, hidden)
        self.time = nn.Sequential(nn.Linear(emb, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
            for _ in range(3)
        )
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        ang = t[:, None].float() * self.freq
        temb = self.time(torch.cat([ang.sin(), ang.cos()], 1))
        h = self.inp(x)
        for b in self.blocks:
            h = h + b(h + temb)
        return self.out(h)


class Diffusion:
    def __init__(self, steps, device):
        beta = torch.linspace(1e-4, 0.04, steps, device=device)
        self.beta, self.alpha = beta, 1 - beta
        self.abar = torch.cumprod(self.alpha, 0)
        self.steps = steps

    def loss(self, model, x0):
        t = torch.randint(0, self.steps, (len(x0),), device=x0.device)
        eps = torch.randn_like(x0)
        a = self.abar[t][:, None]
        return F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * eps, t).float(), eps)

    @torch.no_grad()
    def sample(self, model, n):
        model.eval()
        x = torch.randn(n, 2, device=self.beta.device)
        for t in reversed(range(self.steps)):
            eps = model(x, torch.full((n,), t, device=x.device))
            x = (x - self.beta[t] / (1 - self.abar[t]).sqrt() * eps) / self.alpha[t].sqrt()
            if t:
                x = x + self.beta[t].sqrt() * torch.randn_like(x)
        model.train()
        return x


def spiral(n, device):
    r = torch.rand(n, device=device).sqrt()
    a = 3 * math.pi * r
    pts = torch.stack([r * a.cos(), r * a.sin()], 1)
    return 2 * pts + 0.02 * torch.randn(n, 2, device=device)


def main(cfg=Cfg()):
    torch.manual_seed(cfg.seed)
    model = Denoiser(cfg.hidden).to(cfg.device)
    diff = Diffusion(cfg.timesteps, cfg.device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg.updates)
    use_bf16 = cfg.device == "cuda" and torch.cuda.is_bf16_supported()
    bad = 0
    model.train()
    for update in range(1, cfg.updates + 1):
        total, finite = 0.0, True
        for _ in range(cfg.accum):
            x0 = spiral(cfg.micro, cfg.device)
            with torch.autocast(cfg.device, dtype=torch.bfloat16, enabled=use_bf16):
                loss = diff.loss(model, x0) / cfg.accum
            if not torch.isfinite(loss):
                finite = False
                break
            loss.backward()
            total += loss.item()
        if not finite:
            bad += 1
            if bad > cfg.max_bad:
                raise RuntimeError("too many non-finite losses")
            continue
        nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
        opt.step()
        opt.zero_grad(set_to_none=True)
        sched.step()
        if update % 250 == 0:
            s = diff.sample(model, 512)
            print(f"{update} loss {total:.4f} dropped {bad} sample std {s.std(0).tolist()}")
    torch.save({"model": model.state_dict(), "cfg": asdict(cfg)}, "ddpm_spiral.pt")


if __name__ == "__main__":
    main()
