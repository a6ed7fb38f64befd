"""x2 super-resolution of fluorescence microscopy (EDSR-like, residual scaling, EMA).

stacks/*.npy: 2-D or 3-D (Z,H,W) arrays. Options come from a yaml file given as the only argument.
"""
import glob
import os
import random
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "stacks": "stacks", "patch": 64, "batch": 16, "steps": 60000, "val_every": 1000, "lr": 2e-4,
    "features": 64, "blocks": 12, "ema_decay": 0.9995, "workers": 4, "val_slices": 8, "out": "sr.pt",
}


def load_slices(folder):
    slices = []
    for path in sorted(glob.glob(os.path.join(folder, "*.npy"))):
        a = np.load(path).astype(np.float32)
        a = a[None] if a.ndim == 2 else a
        lo, hi = np.percentile(a, (0.5, 99.8))
        slices.extend(np.clip((a - lo) / max(hi - lo, 1e-6), 0, 1).astype(np.float32))
    return slices


class Patches(Dataset):
    def __init__(self, slices, patch, length):
        self.slices, self.patch, self.length = slices, patch, length

    def __len__(self):
        return self.length

    def __getitem__(self, _):
        a = random.choice(self.slices)
        y = random.randint(0, a.shape[0] - self.patch)
        x = random.randint(0, a.shape[1] - self.patch)
        hr = torch.from_numpy(a[y:y + self.patch, x:x + self.patch].copy())[None]
        hr = torch.rot90(hr, random.randint(0, 3), (1, 2))
        return hr.flip(2) if random.random() < 0.5 else hr


def degrade(hr, noise=0.01, generator=None):
    lr = F.interpolate(hr, scale_factor=0.5, mode="bicubic", antialias=True, align_corners=False)
    return lr + noise * torch.randn(lr.shape, generator=generator).to(lr.device)


class Block(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(f, f, 3, 1, 1), nn.ReLU(inplace=True), nn.Conv2d(f, f, 3, 1, 1))

    def forward(self, x):
        return x + 0.1 * self.body(x)


class EDSR(nn.Module):
    def __init__(self, f, n):
        super().__init__()
        self.head = nn.Conv2d(1, f, 3, 1, 1)
        self.body = nn.Sequential(*[Block(f) for _ in range(n)], nn.Conv2d(f, f, 3, 1, 1))
        self.tail = nn.Sequential(nn.Conv2d(f, 4 * f, 3, 1, 1), nn.PixelShuffle(2), nn.Conv2d(f, 1, 3, 1, 1))

    def forward(self, x):
        h = self.head(x)
        base = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return base + self.tail(h + self.body(h))


class WeightAverage:
    def __init__(self, params, decay):
        self.params = list(params)
        self.decay = decay
        self.count = 0
        self.shadow = [p.detach().clone() for p in self.params]
        self.backup = None

    @torch.no_grad()
    def update(self):
        self.count += 1
        decay = min(self.decay, (1 + self.count) / (10 + self.count))
        torch._foreach_lerp_(self.shadow, [p.detach() for p in self.params], 1 - decay)

    @torch.no_grad()
    def swap_in(self):
        self.backup = [p.detach().clone() for p in self.params]
        for p, s in zip(self.params, self.shadow):
            p.copy_(s)

    @torch.no_grad()
    def swap_out(self):
        for p, b in zip(self.params, self.backup):
            p.copy_(b)
        self.backup = None


@torch.no_grad()
def psnr(model, slices, device):
    model.eval()
    gen = torch.Generator().manual_seed(0)
    values = []
    for a in slices:
        h, w = a.shape[0] // 2 * 2, a.shape[1] // 2 * 2
        hr = torch.from_numpy(a[:h, :w].copy())[None, None].to(device)
        mse = F.mse_loss(model(degrade(hr, generator=gen)).clamp(0, 1), hr)
        values.append(-10 * mse.clamp(min=1e-10).log10().item())
    model.train()
    return float(np.mean(values))


def main():
    cfg = dict(CONFIG)
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as f:
            cfg.update(yaml.safe_load(f))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    slices = load_slices(cfg["stacks"])
    random.Random(0).shuffle(slices)
    n_val = min(cfg["val_slices"], max(1, len(slices) // 5))
    val, train = slices[:n_val], slices[n_val:]
    loader = DataLoader(Patches(train, cfg["patch"], cfg["steps"] * cfg["batch"]), cfg["batch"],
                        num_workers=cfg["workers"])

    model = EDSR(cfg["features"], cfg["blocks"]).to(device)
    average = WeightAverage(model.parameters(), cfg["ema_decay"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [cfg["steps"] // 2, cfg["steps"] * 3 // 4], gamma=0.5)

    best, running = 0.0, 0.0
    model.train()
    for step, hr in enumerate(loader, 1):
        hr = hr.to(device)
        loss = F.l1_loss(model(degrade(hr)), hr)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        average.update()
        running += loss.item()
        if step % cfg["val_every"] == 0:
            average.swap_in()
            score = psnr(model, val, device)
            if score > best:
                best = score
                torch.save(model.state_dict(), cfg["out"])
            average.swap_out()
            print(f"step {step} l1 {running / cfg['val_every']:.5f} ema psnr {score:.2f} dB", flush=True)
            running = 0.0


if __name__ == "__main__":
    main()
