"""DDPM on 32x32 sprites. Reads every .npy array (N,32,32,3 uint8) listed in config.yaml or DEFAULTS."""
import copy
import math
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, Dataset

DEFAULTS = dict(files=["sprites.npy"], steps=40000, batch=128, lr=2e-4, T=1000, ch=64, ema=0.999,
                warmup=500, clip=1.0, sample_every=2000, n_sample=16, workers=2, out="ddpm_out")


class Sprites(Dataset):
    def __init__(self, files):
        self.x = np.concatenate([np.load(f, mmap_mode="r") for f in files])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = torch.from_numpy(np.array(self.x[i])).permute(2, 0, 1).float() / 127.5 - 1
        return x.flip(-1) if torch.rand(()) < 0.5 else x


class Res(nn.Module):
    def __init__(self, i, o, temb):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(8, i), nn.GroupNorm(8, o)
        self.c1, self.c2 = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
        self.t = nn.Linear(temb, o)
        self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x))) + self.t(F.silu(t))[:, :, None, None]
        return self.c2(F.silu(self.n2(h))) + self.skip(x)


class Denoiser(nn.Module):
    def __init__(self, ch):
        super().__init__()
        e = ch * 4
        self.ch = ch
        self.time = nn.Sequential(nn.Linear(ch, e), nn.SiLU(), nn.Linear(e, e))
        self.inp = nn.Conv2d(3, ch, 3, padding=1)
        self.d1, self.d2, self.mid = Res(ch, ch, e), Res(ch, 2 * ch, e), Res(2 * ch, 2 * ch, e)
        self.u2, self.u1 = Res(4 * ch, ch, e), Res(2 * ch, ch, e)
        self.out = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, 3, 3, padding=1))

    def forward(self, x, t):
        half = self.ch // 2
        freq = torch.exp(-math.log(10000) * torch.arange(half, device=x.device) / half)
        ang = t[:, None].float() * freq[None]
        temb = self.time(torch.cat([ang.sin(), ang.cos()], 1))
        h1 = self.d1(self.inp(x), temb)
        h2 = self.d2(F.avg_pool2d(h1, 2), temb)
        m = self.mid(F.avg_pool2d(h2, 2), temb)
        u = self.u2(torch.cat([F.interpolate(m, scale_factor=2), h2], 1), temb)
        u = self.u1(torch.cat([F.interpolate(u, scale_factor=2), h1], 1), temb)
        return self.out(u)


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for avg, p in zip(self.model.parameters(), model.parameters()):
            avg.lerp_(p, 1 - self.decay)
        for avg, b in zip(self.model.buffers(), model.buffers()):
            avg.copy_(b)


class Diffusion:
    def __init__(self, T, device):
        self.T = T
        self.beta = torch.linspace(1e-4, 0.02, T, device=device)
        self.alpha = 1 - self.beta
        self.abar = self.alpha.cumprod(0)

    def loss(self, model, x):
        t = torch.randint(0, self.T, (len(x),), device=x.device)
        noise = torch.randn_like(x)
        a = self.abar[t][:, None, None, None]
        return F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)

    @torch.no_grad()
    def sample(self, model, shape):
        x = torch.randn(shape, device=self.beta.device)
        for t in reversed(range(self.T)):
            tt = torch.full((shape[0],), t, device=x.device)
            eps = model(x, tt)
            x = (x - self.beta[t] / (1 - self.abar[t]).sqrt() * eps) / self.alpha[t].sqrt()
            if t > 0:
                x = x + self.beta[t].sqrt() * torch.randn_like(x)
        return x.clamp(-1, 1)


def cycle(loader):
    while True:
        yield from loader


def main():
    cfg = dict(DEFAULTS)
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as f:
            cfg.update(yaml.safe_load(f))
    os.makedirs(cfg["out"], exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = cycle(DataLoader(Sprites(cfg["files"]), cfg["batch"], shuffle=True, drop_last=True,
                            num_workers=cfg["workers"]))
    model = Denoiser(cfg["ch"]).to(device)
    ema = EMA(model, cfg["ema"])
    diffusion = Diffusion(cfg["T"], device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / cfg["warmup"]))

    avg = None
    for step in range(1, cfg["steps"] + 1):
        loss = diffusion.loss(model, next(data).to(device))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
        opt.step()
        sched.step()
        ema.update(model)
        avg = loss.item() if avg is None else 0.98 * avg + 0.02 * loss.item()
        if step % 100 == 0:
            print(f"step {step} loss {avg:.4f} lr {sched.get_last_lr()[0]:.2e}", flush=True)
        if step % cfg["sample_every"] == 0:
            x = diffusion.sample(ema.model, (cfg["n_sample"], 3, 32, 32))
            np.save(f"{cfg['out']}/sample_{step}.npy", ((x + 1) * 127.5).byte().cpu().numpy())
            torch.save({"model": model.state_dict(), "ema": ema.model.state_dict(), "step": step},
                       f"{cfg['out']}/ckpt.pt")


if __name__ == "__main__":
    main()
