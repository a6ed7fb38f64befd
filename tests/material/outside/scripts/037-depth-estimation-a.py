"""Monocular depth on rendered ramps, fp16 on the GPU."""
import functools
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
USE_AMP = DEVICE == "cuda"
STEPS, BATCH, SIZE = 40, 8, 32


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        t = time.perf_counter()
        out = fn(*args, **kwargs)
        wrapper.calls += 1
        wrapper.seconds += time.perf_counter() - t
        return out
    wrapper.calls, wrapper.seconds = 0, 0.0
    return wrapper


def render(n):
    g = torch.linspace(-1, 1, SIZE)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    slope = torch.randn(n, 2, 1, 1)
    bump = torch.randn(n, 1, 1) * torch.exp(-4 * (xx ** 2 + yy ** 2))
    depth = 2 + 0.4 * (slope[:, 0] * xx + slope[:, 1] * yy) + 0.5 * bump
    gy, gx = torch.gradient(depth, dim=(1, 2))
    shade = 1 / (1 + 100 * (gx ** 2 + gy ** 2)).sqrt()
    img = torch.stack([shade, gx * 10, gy * 10], 1) + 0.02 * torch.randn(n, 3, SIZE, SIZE)
    return img.to(DEVICE), depth.to(DEVICE)


class DepthNet(nn.Module):
    def __init__(self, w=12):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, w, 3, 2, 1), nn.Conv2d(w, w * 2, 3, 2, 1), nn.Conv2d(w * 2, w * 2, 3, 2, 1)])
        self.up = nn.ModuleList([nn.Conv2d(w * 4, w * 2, 3, 1, 1), nn.Conv2d(w * 3, w, 3, 1, 1)])
        self.head = nn.Conv2d(w, 1, 3, 1, 1)

    def forward(self, x):
        a = F.elu(self.down[0](x))
        b = F.elu(self.down[1](a))
        c = F.elu(self.down[2](b))
        b = F.elu(self.up[0](torch.cat([F.interpolate(c, scale_factor=2), b], 1)))
        a = F.elu(self.up[1](torch.cat([F.interpolate(b, scale_factor=2), a], 1)))
        return self.head(F.interpolate(a, scale_factor=2)).squeeze(1) + 2


def depth_loss(pred, depth):
    l1 = (pred - depth).abs().mean()
    grad = sum((p - d).abs().mean() for p, d in zip(torch.gradient(pred, dim=(1, 2)), torch.gradient(depth, dim=(1, 2))))
    return l1 + 2 * grad


model = DepthNet().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler(DEVICE, enabled=USE_AMP)


@timed
def train_step():
    img, depth = render(BATCH)
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(DEVICE, dtype=torch.float16, enabled=USE_AMP):
        pred = model(img)
    loss = depth_loss(pred.float(), depth)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scaler.update()
    return loss.item()


for step in range(1, STEPS + 1):
    loss = train_step()
    if step % 10 == 0:
        print(f"step {step} loss {loss:.4f} scale {scaler.get_scale():.0f}")
print(f"{1000 * train_step.seconds / train_step.calls:.1f} ms per step")
