import copy
import torch, torch.nn as nn, torch.nn.functional as F

T = 100
betas = torch.linspace(1e-4, 0.02, T)
abar = torch.cumprod(1 - betas, 0)


def two_moons(n):
    th = torch.rand(n) * torch.pi
    up = torch.rand(n) < .5
    x = torch.where(up, th.cos(), 1 - th.cos())
    y = torch.where(up, th.sin(), .5 - th.sin())
    return torch.stack([x, y], 1) + .05 * torch.randn(n, 2)


class Eps(nn.Module):
    def __init__(self, h=128):
        super().__init__()
        self.t = nn.Embedding(T, h)
        self.i = nn.Linear(2, h)
        self.net = nn.Sequential(nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 2))

    def forward(self, x, t):
        return self.net(self.i(x) + self.t(t))


class EMA:
    def __init__(self, model, decay=0.995):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, src):
        for e, p in zip(self.model.parameters(), src.parameters()):
            e.lerp_(p, 1 - self.decay)


def q_sample(x0, t, noise):
    a = abar[t][:, None]
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


@torch.no_grad()
def sample(net, n):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        tt = torch.full((n,), t)
        e = net(x, tt)
        x = (x - betas[t] / (1 - abar[t]).sqrt() * e) / (1 - betas[t]).sqrt()
        if t:
            x += betas[t].sqrt() * torch.randn_like(x)
    return x


torch.manual_seed(3)
net = Eps()
ema = EMA(net)
opt = torch.optim.AdamW(net.parameters(), 2e-3)
for step in range(300):
    x0 = two_moons(256)
    t = torch.randint(0, T, (256,))
    noise = torch.randn_like(x0)
    pred = net(q_sample(x0, t, noise), t)
    loss = F.mse_loss(pred, noise)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    ema.update(net)
    if step % 100 == 0:
        print(step, round(loss.item(), 4))
print(sample(ema.model, 5))
