import argparse
import copy
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class ImageDir(Dataset):
    def __init__(self, root, size):
        self.paths = sorted(p for p in Path(root).rglob("*") if p.suffix.lower() in {".png", ".jpg", ".jpeg"})
        self.size = size

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        im = Image.open(self.paths[i]).convert("RGB").resize((self.size, self.size), Image.BICUBIC)
        x = torch.from_numpy(np.array(im)).permute(2, 0, 1).float() / 127.5 - 1
        return x.flip(-1) if torch.rand(()) < 0.5 else x


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-np.log(10000) * torch.arange(half, device=t.device) / half)
    a = t[:, None].float() * freqs[None]
    return torch.cat([a.cos(), a.sin()], 1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, tdim):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.t = nn.Linear(tdim, cout)
        self.n2, self.c2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x))) + self.t(t)[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(h)))


class UNet(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.ch, td = ch, 4 * ch
        self.tmlp = nn.Sequential(nn.Linear(ch, td), nn.SiLU(), nn.Linear(td, td))
        self.inp = nn.Conv2d(3, ch, 3, padding=1)
        self.d1, self.d2, self.d3 = ResBlock(ch, ch, td), ResBlock(ch, 2 * ch, td), ResBlock(2 * ch, 4 * ch, td)
        self.mid = ResBlock(4 * ch, 4 * ch, td)
        self.u3, self.u2, self.u1 = ResBlock(8 * ch, 2 * ch, td), ResBlock(4 * ch, ch, td), ResBlock(2 * ch, ch, td)
        self.out = nn.Sequential(nn.GroupNorm(8, ch), nn.SiLU(), nn.Conv2d(ch, 3, 3, padding=1))

    def forward(self, x, t):
        t = self.tmlp(timestep_embedding(t, self.ch))
        h1 = self.d1(self.inp(x), t)
        h2 = self.d2(F.avg_pool2d(h1, 2), t)
        h3 = self.d3(F.avg_pool2d(h2, 2), t)
        h = self.u3(torch.cat([self.mid(h3, t), h3], 1), t)
        h = self.u2(torch.cat([F.interpolate(h, scale_factor=2), h2], 1), t)
        h = self.u1(torch.cat([F.interpolate(h, scale_factor=2), h1], 1), t)
        return self.out(h)


class Diffusion:
    def __init__(self, steps, device):
        self.steps = steps
        self.beta = torch.linspace(1e-4, 0.02, steps, device=device)
        self.alpha = 1 - self.beta
        self.abar = self.alpha.cumprod(0)

    def loss(self, model, x0):
        t = torch.randint(0, self.steps, (x0.size(0),), device=x0.device)
        eps = torch.randn_like(x0)
        ab = self.abar[t][:, None, None, None]
        xt = ab.sqrt() * x0 + (1 - ab).sqrt() * eps
        return F.mse_loss(model(xt, t), eps)

    @torch.no_grad()
    def sample(self, model, n, size, device):
        x = torch.randn(n, 3, size, size, device=device)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i, device=device)
            eps = model(x, t)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / self.alpha[i].sqrt()
            if i > 0:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x.clamp(-1, 1)


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, self.decay)


def save_grid(x, path):
    a = ((x.cpu() + 1) * 127.5).byte().permute(0, 2, 3, 1).numpy()
    Image.fromarray(np.concatenate(list(a), axis=1)).save(path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--images", required=True)
    ap.add_argument("--out", default="ddpm_out")
    ap.add_argument("--size", type=int, default=64)
    ap.add_argument("--ch", type=int, default=64)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--iters", type=int, default=100000)
    ap.add_argument("--T", type=int, default=1000)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--ema", type=float, default=0.9995)
    ap.add_argument("--every", type=int, default=5000)
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(ImageDir(args.images, args.size), args.batch, shuffle=True, drop_last=True, num_workers=2)
    model = UNet(args.ch).to(device)
    ema = EMA(model, args.ema)
    diff = Diffusion(args.T, device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 1000))

    it, bar = 0, tqdm(total=args.iters)
    while it < args.iters:
        for x in loader:
            loss = diff.loss(model, x.to(device))
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            warm.step()
            ema.update(model)
            it += 1
            bar.update()
            bar.set_postfix(loss=f"{loss.item():.4f}")
            if it % args.every == 0 or it == args.iters:
                save_grid(diff.sample(ema.shadow, 8, args.size, device), f"{args.out}/{it:07d}.png")
                torch.save({"ema": ema.shadow.state_dict(), "model": model.state_dict(),
                            "opt": opt.state_dict(), "it": it}, f"{args.out}/last.pt")
            if it == args.iters:
                break
    bar.close()


if __name__ == "__main__":
    main()
