"""DDPM on 2-D point clouds with an EMA of the denoiser."""
from dataclasses import dataclass
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    dataset: str = "moons"
    n_points: int = 8000
    timesteps: int = 60
    hidden: int = 96
    lr: float = 2e-3
    batch_size: int = 256
    steps: int = 2400
    eval_every: int = 300
    ema_decay: float = 0.998
    grad_clip: float = 1.0
    seed: int = 0

    @classmethod
    def from_cli(cls, argv):
        cfg = cls()
        for item in argv:
            key, value = item.split("=", 1)
            setattr(cfg, key, type(getattr(cfg, key))(value))
        return cfg


def make_points(name, n, gen):
    t = torch.rand(n, generator=gen) * math.pi
    if name == "moons":
        side = torch.rand(n, generator=gen) < 0.5
        x = torch.where(side, t.cos(), 1 - t.cos())
        y = torch.where(side, t.sin(), 0.5 - t.sin())
        pts = torch.stack([x - 0.5, y - 0.25], 1)
    else:
        r = 0.3 + t / math.pi
        pts = torch.stack([r * (4 * t).cos(), r * (4 * t).sin()], 1)
    return pts * 1.3 + 0.04 * torch.randn(n, 2, generator=gen)


class Denoiser(nn.Module):
    def __init__(self, hidden, timesteps):
        super().__init__()
        self.t_emb = nn.Embedding(timesteps, hidden)
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(3)])
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        e = self.t_emb(t)
        h = self.inp(x)
        for layer in self.mid:
            h = h + F.silu(layer(F.silu(h + e)))
        return self.out(h)


class Diffusion:
    def __init__(self, timesteps):
        self.T = timesteps
        self.beta = torch.linspace(1e-4, 0.12, timesteps)
        self.alpha = 1 - self.beta
        self.abar = torch.cumprod(self.alpha, 0)

    def q_sample(self, x0, t, noise):
        a = self.abar[t].unsqueeze(1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, n, gen):
        x = torch.randn(n, 2, generator=gen)
        for t in reversed(range(self.T)):
            eps = model(x, torch.full((n,), t))
            mean = (x - self.beta[t] / (1 - self.abar[t]).sqrt() * eps) / self.alpha[t].sqrt()
            x = mean + (self.beta[t].sqrt() * torch.randn(n, 2, generator=gen) if t > 0 else 0)
        return x


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: p.detach().clone() for k, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model, step):
        d = min(self.decay, (1 + step) / (10 + step))
        for k, p in model.named_parameters():
            self.shadow[k].mul_(d).add_(p, alpha=1 - d)

    @torch.no_grad()
    def apply_to(self, model):
        self.backup = {k: p.detach().clone() for k, p in model.named_parameters()}
        for k, p in model.named_parameters():
            p.copy_(self.shadow[k])

    @torch.no_grad()
    def restore(self, model):
        for k, p in model.named_parameters():
            p.copy_(self.backup[k])
        self.backup = {}


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def evaluate(model, ema, diffusion, reference):
    ema.apply_to(model)
    model.eval()
    samples = diffusion.sample(model, 1000, torch.Generator().manual_seed(123))
    score = energy_distance(samples, reference)
    model.train()
    ema.restore(model)
    return score, samples


def train(cfg):
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    data = make_points(cfg.dataset, cfg.n_points, gen)
    reference = make_points(cfg.dataset, 1000, gen)

    model = Denoiser(cfg.hidden, cfg.timesteps)
    diffusion = Diffusion(cfg.timesteps)
    ema = EMA(model, cfg.ema_decay)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg.steps, eta_min=0.05 * cfg.lr)

    history, running = [], 0.0
    for step in range(1, cfg.steps + 1):
        x0 = data[torch.randint(len(data), (cfg.batch_size,))]
        t = torch.randint(cfg.timesteps, (cfg.batch_size,))
        noise = torch.randn_like(x0)
        loss = F.mse_loss(model(diffusion.q_sample(x0, t, noise), t), noise)

        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
        optimizer.step()
        scheduler.step()
        ema.update(model, step)
        running += loss.item()

        if step % cfg.eval_every == 0:
            score, samples = evaluate(model, ema, diffusion, reference)
            history.append((step, running / cfg.eval_every, score))
            print(f"step {step:5d} loss {history[-1][1]:.4f} energy distance {score:.5f}")
            running = 0.0

    torch.save({"model": model.state_dict(), "ema": ema.shadow, "config": vars(cfg),
                "samples": samples, "history": history}, f"ddpm_{cfg.dataset}.pt")
    return model, ema


if __name__ == "__main__":
    train(Config.from_cli(sys.argv[1:]))
