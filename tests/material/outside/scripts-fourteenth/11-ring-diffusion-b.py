import math
import numpy as np
import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, dim=2, hidden=96, T=50):
        super().__init__()
        self.temb = nn.Embedding(T, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.temb(t)))


class NoiseSchedule:
    def __init__(self, T=50, lo=1e-4, hi=0.2):
        self.T = T
        self.beta = torch.linspace(lo, hi, T)
        self.abar = torch.cumprod(1 - self.beta, 0)

    def add_noise(self, x0, t, eps):
        a = self.abar[t].unsqueeze(1)
        return a.sqrt() * x0 + (1 - a).sqrt() * eps

    @torch.no_grad()
    def sample(self, net, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.T)):
            t = torch.full((n,), i)
            eps = net(x, t)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / (1 - self.beta[i]).sqrt()
            if i > 0:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x


def warmup_cosine(warmup, total):
    def f(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))
    return f


torch.manual_seed(2)
data = torch.from_numpy(np.load("data/ring.npy")) / 2
loader = torch.utils.data.DataLoader(data, batch_size=50, shuffle=True)
epochs = 8
net, ns = Denoiser(), NoiseSchedule()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, warmup_cosine(60, epochs * len(loader)))

for ep in range(epochs):
    net.train()
    tot = 0.0
    for x0 in loader:
        t = torch.randint(0, ns.T, (len(x0),))
        eps = torch.randn_like(x0)
        pred = net(ns.add_noise(x0, t, eps), t)
        loss = nn.functional.mse_loss(pred, eps)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        tot += loss.item()
    sched.step()
    print(f"epoch {ep} loss {tot / len(loader):.4f} lr {sched.get_last_lr()[0]:.2e}")

net.eval()
s = ns.sample(net, 400)
print("radius", s.norm(dim=1).mean().item())
