"""2-D denoising diffusion on the ring, EMA weights for the reports."""
import contextlib
import pathlib
from dataclasses import dataclass

import torch
from torch import nn

from ringlib import load_ring, modes_hit


@dataclass(frozen=True)
class Conf:
    T: int = 40
    steps: int = 600
    batch: int = 96
    lr: float = 2e-3
    decay: float = 0.995
    every: int = 200
    seed: int = 0


class Denoiser(nn.Module):
    def __init__(self, T, h=96):
        super().__init__()
        self.t = nn.Embedding(T, h)
        self.inp = nn.Linear(2, h)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.out = nn.Linear(h, 2)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.t(t)))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].lerp_(v, 1 - self.decay)

    @contextlib.contextmanager
    def applied(self, model):
        backup = {k: v.detach().clone() for k, v in model.state_dict().items()}
        model.load_state_dict(self.shadow)
        try:
            yield model
        finally:
            model.load_state_dict(backup)


class Diffusion:
    def __init__(self, T):
        self.T = T
        self.beta = torch.linspace(1e-3, 0.25, T)
        self.alpha = 1 - self.beta
        self.abar = self.alpha.cumprod(0)

    def loss(self, model, x0):
        t = torch.randint(self.T, (len(x0),))
        eps = torch.randn_like(x0)
        a = self.abar[t][:, None]
        return nn.functional.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * eps, t), eps)

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.T)):
            e = model(x, torch.full((n,), i))
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * e) / self.alpha[i].sqrt()
            if i:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x


def main(cfg=Conf()):
    torch.set_num_threads(1)
    torch.manual_seed(cfg.seed)
    data = load_ring(pathlib.Path(__file__).parent / "data" / "ring.npz")
    model, diff = Denoiser(cfg.T), Diffusion(cfg.T)
    ema = EMA(model, cfg.decay)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    run = 0.0
    for step in range(1, cfg.steps + 1):
        loss = diff.loss(model, data[torch.randint(len(data), (cfg.batch,))])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        ema.update(model)
        run += loss.item()
        if step % cfg.every == 0:
            with ema.applied(model) as m:
                m.eval()
                hit, frac = modes_hit(diff.sample(m, 300), tol=0.4)
                m.train()
            print(f"step {step} loss {run / cfg.every:.4f} modes {hit} near {frac:.2f}")
            run = 0.0


if __name__ == "__main__":
    main()
