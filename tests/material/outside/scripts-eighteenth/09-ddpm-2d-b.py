import copy
import math
from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class Args:
    steps: int = 300
    batch: int = 128
    T: int = 50
    lr: float = 2e-3
    ema_decay: float = 0.99
    eval_every: int = 60
    clip: float = 1.0
    hidden: int = 64
    seed: int = 0
    betas: tuple = field(default=(1e-4, 0.05))


class Denoiser(nn.Module):
    def __init__(self, hidden, T):
        super().__init__()
        self.T = T
        self.net = nn.Sequential(
            nn.Linear(4, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2)
        )

    def forward(self, x, t):
        a = t.float()[:, None] / self.T * 2 * math.pi
        return self.net(torch.cat([x, a.sin(), a.cos()], dim=1))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.backup = None

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)

    def apply_to(self, model):
        self.backup = copy.deepcopy(model.state_dict())
        model.load_state_dict(self.shadow)

    def restore(self, model):
        model.load_state_dict(self.backup)
        self.backup = None


def two_moons(n, g):
    th = torch.rand(n, generator=g) * math.pi
    up = (torch.rand(n, generator=g) > 0.5).float()
    x = torch.stack([th.cos() + up, (1 - 2 * up) * th.sin() + 0.5 * up], 1) - torch.tensor([0.5, 0.25])
    return x + 0.05 * torch.randn(n, 2, generator=g)


def main(a=Args()):
    torch.manual_seed(a.seed)
    g = torch.Generator().manual_seed(a.seed)
    beta = torch.linspace(*a.betas, a.T)
    abar = torch.cumprod(1 - beta, 0)

    def noise_loss(model, x0, gen):
        t = torch.randint(0, a.T, (len(x0),), generator=gen)
        eps = torch.randn(x0.shape, generator=gen)
        xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * eps
        return ((model(xt, t) - eps) ** 2).mean()

    model = Denoiser(a.hidden, a.T)
    ema = EMA(model, a.ema_decay)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    val = two_moons(1024, torch.Generator().manual_seed(99))

    @torch.no_grad()
    def evaluate():
        ema.apply_to(model)
        model.eval()
        out = noise_loss(model, val, torch.Generator().manual_seed(5)).item()
        model.train()
        return out

    for step in range(1, a.steps + 1):
        loss = noise_loss(model, two_moons(a.batch, g), g)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), a.clip)
        opt.step()
        ema.update(model)
        if step % a.eval_every == 0:
            print(f"step {step} train {loss.item():.5f} val(ema) {evaluate():.5f}")


if __name__ == "__main__":
    main()
