"""DDPM on 1-D data with EMA weights."""
import copy

import torch
import torch.nn as nn

T = 50
betas = torch.linspace(1e-4, 0.05, T)
abar = torch.cumprod(1 - betas, 0)


class Eps(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.temb = nn.Embedding(T, h)
        self.inp = nn.Linear(1, h)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 1))

    def forward(self, x, t):
        return self.out(self.inp(x) + self.temb(t))


class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, src):
        for e, p in zip(self.model.parameters(), src.parameters()):
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)


def data(n):
    return (torch.randint(0, 2, (n, 1)).float() * 4 - 2) + 0.2 * torch.randn(n, 1)


torch.manual_seed(0)
model = Eps()
ema = EMA(model, 0.9)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(80):
    x0 = data(64)
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(x0)
    a = abar[t].unsqueeze(1)
    xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
    loss = (model(xt, t) - noise).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    opt.step()
    opt.zero_grad()
    ema.update(model)
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    x0 = data(512); t = torch.randint(0, T, (512,)); n = torch.randn_like(x0); a = abar[t].unsqueeze(1)
    print("ema loss", (ema.model(a.sqrt() * x0 + (1 - a).sqrt() * n, t) - n).pow(2).mean().item())
