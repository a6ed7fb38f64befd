"""Tiny DDPM on two-dimensional moons with an EMA of the weights for sampling."""
import copy
import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class DDPMConfig:
    steps_diffusion: int = 100
    n_samples: int = 4000
    batch_size: int = 128
    accumulate: int = 4
    updates: int = 200
    lr: float = 2e-3
    ema_decay: float = 0.98
    grad_clip: float = 1.0
    hidden: int = 96
    eval_every: int = 50
    seed: int = 0
    workdir: str = "ddpm_out"
    resume: bool = False


def two_moons(n, g):
    t = torch.rand(n, generator=g) * math.pi
    upper = torch.rand(n, generator=g) < 0.5
    x = torch.where(upper, t.cos(), 1 - t.cos())
    y = torch.where(upper, t.sin(), 0.5 - t.sin())
    pts = torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2, generator=g)
    return (pts - torch.tensor([0.5, 0.25])) / 0.75


class Denoiser(nn.Module):
    def __init__(self, hidden, n_freq=16):
        super().__init__()
        self.register_buffer("freqs", torch.exp(torch.linspace(0, math.log(100.0), n_freq)))
        self.net = nn.Sequential(nn.Linear(2 + 2 * n_freq, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                 nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, t):
        a = t[:, None] * self.freqs
        return self.net(torch.cat([x, a.sin(), a.cos()], dim=1))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.lerp_(p, 1 - self.decay)


class DDPMTrainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.data = two_moons(cfg.n_samples, torch.Generator().manual_seed(cfg.seed))
        self.heldout = two_moons(1000, torch.Generator().manual_seed(cfg.seed + 1))
        betas = torch.linspace(1e-3, 0.08, cfg.steps_diffusion)
        self.betas, self.abar = betas, torch.cumprod(1 - betas, 0)
        self.model = Denoiser(cfg.hidden)
        self.ema = EMA(self.model, cfg.ema_decay)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=1e-4)
        self.update_idx = 0
        self.path = Path(cfg.workdir)
        self.path.mkdir(exist_ok=True, parents=True)
        if cfg.resume:
            self.load()

    def loss(self, model, x0):
        t = torch.randint(0, self.cfg.steps_diffusion, (len(x0),))
        noise = torch.randn_like(x0)
        ab = self.abar[t][:, None]
        xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
        return F.mse_loss(model(xt, t / self.cfg.steps_diffusion), noise)

    def micro_batch(self):
        return self.data[torch.randint(0, len(self.data), (self.cfg.batch_size,))]

    def train_update(self):
        total = 0.0
        for _ in range(self.cfg.accumulate):
            loss = self.loss(self.model, self.micro_batch()) / self.cfg.accumulate
            loss.backward()
            self.ema.update(self.model)
            total += loss.item()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)
        self.update_idx += 1
        return total

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.cfg.steps_diffusion)):
            t = torch.full((n,), i / self.cfg.steps_diffusion)
            eps = self.ema.model(x, t)
            x = (x - self.betas[i] / (1 - self.abar[i]).sqrt() * eps) / (1 - self.betas[i]).sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x

    @torch.no_grad()
    def evaluate(self):
        rng = torch.get_rng_state()
        torch.manual_seed(123)
        held = self.loss(self.ema.model, self.heldout).item()
        dist = torch.cdist(self.sample(200), self.heldout).min(1).values.mean().item()
        torch.set_rng_state(rng)
        return held, dist

    def save(self):
        torch.save({"model": self.model.state_dict(), "ema": self.ema.model.state_dict(),
                    "opt": self.opt.state_dict(), "update": self.update_idx}, self.path / "state.pt")

    def load(self):
        s = torch.load(self.path / "state.pt")
        self.model.load_state_dict(s["model"])
        self.ema.model.load_state_dict(s["ema"])
        self.opt.load_state_dict(s["opt"])
        self.update_idx = s["update"]

    def run(self):
        while self.update_idx < self.cfg.updates:
            loss = self.train_update()
            if self.update_idx % self.cfg.eval_every == 0:
                held, dist = self.evaluate()
                print(f"update {self.update_idx} loss {loss:.4f} ema held-out {held:.4f} nn-distance {dist:.3f}")
                self.save()


if __name__ == "__main__":
    DDPMTrainer(DDPMConfig()).run()
