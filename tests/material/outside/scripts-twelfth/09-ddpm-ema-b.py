import argparse
import copy
import json
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

DEFAULTS = {
    "data": None,
    "timesteps": 200,
    "width": 128,
    "batch_size": 128,
    "lr": 1e-3,
    "warmup": 100,
    "epochs": 50,
    "ema_decay": 0.999,
    "compile": False,
    "seed": 0,
}


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)


class Denoiser(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.register_buffer("freqs", torch.exp(torch.linspace(0, math.log(1000), 16)))
        self.inp = nn.Linear(dim + 32, width)
        self.mid = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
        self.out = nn.Linear(width, dim)

    def forward(self, x, t):
        ang = t[:, None] * self.freqs[None]
        h = F.silu(self.inp(torch.cat([x, ang.sin(), ang.cos()], 1)))
        for layer in self.mid:
            h = h + F.silu(layer(h))
        return self.out(h)


class Diffusion:
    def __init__(self, T, device):
        self.T = T
        self.betas = torch.linspace(1e-4, 0.04, T, device=device)
        self.abar = torch.cumprod(1 - self.betas, 0)

    def loss(self, model, x0):
        t = torch.randint(0, self.T, (x0.size(0),), device=x0.device)
        noise = torch.randn_like(x0)
        a = self.abar[t][:, None]
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        return F.mse_loss(model(xt, t.float() / self.T), noise)

    @torch.no_grad()
    def sample(self, model, n, dim, device):
        x = torch.randn(n, dim, device=device)
        for i in reversed(range(self.T)):
            t = torch.full((n,), i / self.T, device=device)
            eps = model(x, t)
            x = (x - self.betas[i] / (1 - self.abar[i]).sqrt() * eps) / (1 - self.betas[i]).sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def two_moons(n=4096):
    a = np.random.rand(n) * np.pi
    up = np.random.rand(n) < 0.5
    x = np.stack([np.where(up, np.cos(a), 1 - np.cos(a)), np.where(up, np.sin(a), 0.5 - np.sin(a))], 1)
    return (x + 0.05 * np.random.randn(n, 2)).astype(np.float32)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default=None)
    args = ap.parse_args()
    cfg = dict(DEFAULTS)
    if args.config and os.path.exists(args.config):
        cfg.update(json.load(open(args.config)))

    np.random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    raw = np.load(cfg["data"]) if cfg["data"] else two_moons()
    data = torch.from_numpy((raw - raw.mean(0)) / raw.std(0)).float()
    loader = torch.utils.data.DataLoader(data, cfg["batch_size"], shuffle=True, drop_last=True)

    model = Denoiser(data.size(1), cfg["width"]).to(device)
    ema = EMA(model, cfg["ema_decay"])
    diffusion = Diffusion(cfg["timesteps"], device)
    net = torch.compile(model) if cfg["compile"] else model
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / cfg["warmup"]))

    for epoch in range(cfg["epochs"]):
        total = 0.0
        for x in loader:
            opt.zero_grad()
            loss = diffusion.loss(net, x.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            total += loss.item()
        ema.update(model)
        print(f"epoch {epoch} loss {total / len(loader):.4f}")

    samples = diffusion.sample(ema.shadow, 512, data.size(1), device)
    print("sample mean", samples.mean(0).tolist(), "std", samples.std(0).tolist())
    torch.save({"ema": ema.shadow.state_dict(), "model": model.state_dict(), "cfg": cfg}, "ddpm.pt")


if __name__ == "__main__":
    main()
