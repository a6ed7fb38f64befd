"""DDPM on the swiss roll, with an exponential moving average of the weights for sampling."""
import copy
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    steps: int = 400
    batch_size: int = 256
    hidden: int = 64
    T: int = 50
    lr: float = 2e-3
    ema_decay: float = 0.99
    clip: float = 1.0
    seed: int = 0
    log_every: int = 100


def swiss_roll(n):
    t = 1.5 * math.pi * (1 + 2 * torch.rand(n))
    pts = torch.stack([t * t.cos(), t * t.sin()], 1) / 10
    return pts + 0.02 * torch.randn_like(pts)


class Denoiser(nn.Module):
    def __init__(self, hidden, T):
        super().__init__()
        self.time = nn.Embedding(T, hidden)
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.time(t)))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval()
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.shadow.parameters(), model.parameters()):
            ema_p.mul_(self.decay).add_(p, alpha=1 - self.decay)


class Diffusion:
    def __init__(self, T, device):
        self.T = T
        self.betas = torch.linspace(1e-4, 0.1, T, device=device)
        self.alphas = 1 - self.betas
        self.abar = torch.cumprod(self.alphas, 0)

    def loss(self, model, x0):
        t = torch.randint(0, self.T, (x0.size(0),), device=x0.device)
        noise = torch.randn_like(x0)
        a = self.abar[t].unsqueeze(1)
        return F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2, device=self.betas.device)
        for t in reversed(range(self.T)):
            tt = torch.full((n,), t, device=x.device)
            eps = model(x, tt)
            x = (x - self.betas[t] / (1 - self.abar[t]).sqrt() * eps) / self.alphas[t].sqrt()
            if t:
                x = x + self.betas[t].sqrt() * torch.randn_like(x)
        return x


def main(cfg: Config):
    torch.manual_seed(cfg.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Denoiser(cfg.hidden, cfg.T).to(device)
    ema = EMA(model, cfg.ema_decay)
    diffusion = Diffusion(cfg.T, device)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)

    avg = 0.0
    for step in range(1, cfg.steps + 1):
        x0 = swiss_roll(cfg.batch_size).to(device)
        loss = diffusion.loss(model, x0)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
        opt.step()
        ema.update(model)
        avg += loss.item()
        if step % cfg.log_every == 0:
            print(f"step {step:5d}  loss {avg / cfg.log_every:.4f}")
            avg = 0.0

    pts = diffusion.sample(ema.shadow, 512)
    print("sample mean", pts.mean(0).tolist(), "std", pts.std(0).tolist())


if __name__ == "__main__":
    main(Config())
