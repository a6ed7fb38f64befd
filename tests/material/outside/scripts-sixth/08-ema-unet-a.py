"""Binary segmentation with a tiny U-Net; validation and the saved model use an EMA of the weights."""
from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    tensor_file: str = "data/masks.pt"  # dict(images, masks)
    epochs: int = 8
    batch: int = 16
    lr: float = 1e-3
    ema_decay: float = 0.995
    patience: int = 4
    workdir: str = "runs/unet"


class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}
        self.backup: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def update(self, model: nn.Module):
        for k, p in model.named_parameters():
            self.shadow[k].lerp_(p, 1.0 - self.decay)

    @torch.no_grad()
    def apply_to(self, model: nn.Module):
        self.backup = {k: p.detach().clone() for k, p in model.named_parameters()}
        for k, p in model.named_parameters():
            p.copy_(self.shadow[k])

    @torch.no_grad()
    def restore(self, model: nn.Module):
        for k, p in model.named_parameters():
            p.copy_(self.backup[k])
        self.backup = {}


def double(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.SiLU(),
        nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.SiLU(),
    )


class UNet(nn.Module):
    def __init__(self, cin=1, w=16):
        super().__init__()
        self.d1, self.d2, self.mid = double(cin, w), double(w, 2 * w), double(2 * w, 4 * w)
        self.u2, self.u1 = double(6 * w, 2 * w), double(3 * w, w)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, scale_factor=2), a], 1))
        return self.out(a)


def make_discs(n=320, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    centre = torch.rand(n, 2, generator=g) * size
    radius = 4 + 6 * torch.rand(n, generator=g)
    dist = ((yy[None] - centre[:, :1, None]) ** 2 + (xx[None] - centre[:, 1:, None]) ** 2).sqrt()
    masks = (dist < radius[:, None, None]).float()[:, None]
    images = masks + 0.7 * torch.randn(n, 1, size, size, generator=g)
    return images, masks


def dice_loss(logits, target):
    p = logits.sigmoid().flatten(1)
    t = target.flatten(1)
    return (1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    inter = union = 0.0
    for x, y in loader:
        pred = model(x.to(device)).sigmoid() > 0.5
        y = y.to(device) > 0.5
        inter += (pred & y).sum().item()
        union += (pred | y).sum().item()
    model.train()
    return inter / max(union, 1.0)


def fit(cfg: Config):
    torch.manual_seed(42)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if Path(cfg.tensor_file).exists():
        blob = torch.load(cfg.tensor_file)
        images, masks = blob["images"].float(), blob["masks"].float()
    else:
        images, masks = make_discs()
    n_val = len(images) // 5
    train = DataLoader(TensorDataset(images[n_val:], masks[n_val:]), cfg.batch, shuffle=True, drop_last=True)
    val = DataLoader(TensorDataset(images[:n_val], masks[:n_val]), 64)

    model = UNet(images.size(1)).to(device)
    ema = ExponentialAverage(model, cfg.ema_decay)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    Path(cfg.workdir).mkdir(parents=True, exist_ok=True)
    best, bad = 0.0, 0
    model.train()
    for epoch in range(cfg.epochs):
        for x, y in train:
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss = F.binary_cross_entropy_with_logits(logits, y) + dice_loss(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(model)
        ema.apply_to(model)
        iou = validate(model, val, device)
        averaged = copy.deepcopy(model.state_dict())
        ema.restore(model)
        print(f"epoch {epoch} loss {loss.item():.4f} ema IoU {iou:.4f}")
        if iou > best:
            best, bad = iou, 0
            torch.save(averaged, Path(cfg.workdir) / "best_ema.pt")
        else:
            bad += 1
            if bad >= cfg.patience:
                break
    return best


if __name__ == "__main__":
    print("best", fit(Config()))
