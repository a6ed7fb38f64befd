"""NeRF-like image regression in pure fp16 with fp32 master weights and dynamic loss scaling by hand.

An update whose fp16 gradients overflowed is skipped and the scale halved; after `growth` good
updates in a row the scale doubles.
"""
import argparse
import math
import os

import numpy as np
import torch
import torch.nn as nn


class CoordinateMLP(nn.Module):
    def __init__(self, bands=6, width=128, depth=4):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(bands) * math.pi)
        dims = [4 * bands + 2] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.rgb = nn.Linear(width, 3)

    def forward(self, xy):
        ang = (xy[:, :, None] * self.bands).flatten(1)
        h = torch.cat([xy, ang.sin(), ang.cos()], 1).to(self.rgb.weight.dtype)
        for layer in self.hidden:
            h = torch.relu(layer(h))
        return torch.sigmoid(self.rgb(h).float())


class MasterWeights:
    def __init__(self, model, lr, momentum, init_scale=2.0**16, growth=200):
        self.model_params = [p for p in model.parameters() if p.requires_grad]
        self.master = [p.detach().clone().float().requires_grad_(True) for p in self.model_params]
        self.opt = torch.optim.SGD(self.master, lr=lr, momentum=momentum)
        self.scale, self.growth, self.good, self.skipped = init_scale, growth, 0, 0

    def zero_grad(self):
        for p in self.model_params:
            p.grad = None

    def backward(self, loss):
        (loss * self.scale).backward()
        self.last_loss = loss.detach()

    @torch.no_grad()
    def step(self, max_norm):
        overflow = not all(torch.isfinite(p.grad).all() for p in self.model_params)
        if overflow:
            self.scale = max(self.scale / 2, 1.0)
            self.good = 0
            self.skipped += 1
            return False
        for m, p in zip(self.master, self.model_params):
            m.grad = p.grad.float() / self.scale
        nn.utils.clip_grad_norm_(self.master, max_norm)
        self.opt.step()
        for m, p in zip(self.master, self.model_params):
            p.copy_(m)
        self.good += 1
        if self.good % self.growth == 0:
            self.scale *= 2
        return True


def load_image(path, size=64):
    if os.path.exists(path):
        return torch.from_numpy(np.load(path)).float() / 255.0
    t = torch.linspace(0, 1, size)
    yy, xx = torch.meshgrid(t, t, indexing="ij")
    return torch.stack([0.5 + 0.5 * torch.sin(9 * xx), yy, ((xx - 0.5) ** 2 + (yy - 0.5) ** 2 < 0.1).float()], -1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--image", default="image.npy", help="(H, W, 3) uint8")
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--rays", type=int, default=1024)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--max-norm", type=float, default=1.0)
    args = ap.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    image = load_image(args.image).to(device)
    h, w, _ = image.shape
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
    coords, colours = torch.stack([xs, ys], -1).view(-1, 2).to(device), image.view(-1, 3)

    model = CoordinateMLP().to(device)
    bands = model.bands.clone()
    trainer = MasterWeights(model, args.lr, 0.9)
    model.half()
    model.bands = bands
    for step in range(1, args.steps + 1):
        idx = torch.randint(0, len(coords), (args.rays,), device=device)
        trainer.zero_grad()
        loss = (model(coords[idx]) - colours[idx]).pow(2).mean()
        trainer.backward(loss)
        trainer.step(args.max_norm)
        if step % 250 == 0:
            with torch.no_grad():
                mse = sum((model(c) - t).pow(2).sum() for c, t in zip(coords.split(4096), colours.split(4096)))
            psnr = -10 * math.log10(mse.item() / colours.numel())
            print(f"{step} psnr {psnr:.2f} scale {trainer.scale:.0f} skipped {trainer.skipped}")
    torch.save([m.detach().cpu() for m in trainer.master], "coordinate_mlp_master.pt")


if __name__ == "__main__":
    main()
