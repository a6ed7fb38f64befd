"""BYOL pre-training on unlabelled satellite tiles (tiles/*.npy, each float32 of shape (bands, H, W))."""
import copy
import glob
import math
import os
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, Dataset


@dataclass
class Cfg:
    tiles: str = "tiles"
    out: str = "byol_out"
    bands: int = 4
    crop: int = 64
    batch_size: int = 128
    epochs: int = 100
    lr: float = 3e-4
    weight_decay: float = 1e-5
    warmup_epochs: int = 5
    base_momentum: float = 0.99
    proj_dim: int = 128
    num_workers: int = 4


class TileViews(Dataset):
    def __init__(self, files, crop):
        self.files, self.crop = files, crop

    def __len__(self):
        return len(self.files)

    def view(self, x):
        c = self.crop
        size = int(torch.randint(c // 2, min(x.shape[1:]) + 1, (1,)))
        top = int(torch.randint(0, x.shape[1] - size + 1, (1,)))
        left = int(torch.randint(0, x.shape[2] - size + 1, (1,)))
        v = x[None, :, top:top + size, left:left + size]
        v = F.interpolate(v, (c, c), mode="bilinear", align_corners=False)[0]
        v = torch.rot90(v, int(torch.randint(0, 4, (1,))), (1, 2))
        gain = 1 + 0.2 * torch.randn(x.shape[0], 1, 1)
        bias = 0.1 * torch.randn(x.shape[0], 1, 1)
        return v * gain + bias

    def __getitem__(self, i):
        x = torch.from_numpy(np.load(self.files[i]))
        x = (x - x.mean((1, 2), keepdim=True)) / (x.std((1, 2), keepdim=True) + 1e-5)
        return self.view(x), self.view(x)


def backbone(bands, width=48):
    layers, cin = [], bands
    for i in range(4):
        cout = width * 2 ** i
        layers += [nn.Conv2d(cin, cout, 3, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                   nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True)]
        cin = cout
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()), cin


def mlp(cin, hidden, cout):
    return nn.Sequential(nn.Linear(cin, hidden), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, cout))


class BYOL(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        enc, feat = backbone(cfg.bands)
        self.online = nn.Sequential(enc, mlp(feat, 512, cfg.proj_dim))
        self.predictor = mlp(cfg.proj_dim, 512, cfg.proj_dim)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def update_target(self, m):
        for pt, po in zip(self.target.parameters(), self.online.parameters()):
            pt.lerp_(po, m)

    def forward(self, a, b):
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return 4 - 2 * (F.cosine_similarity(pa, tb).mean() + F.cosine_similarity(pb, ta).mean())


def schedule(step, total, warmup):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def train(cfg):
    os.makedirs(cfg.out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    files = sorted(glob.glob(os.path.join(cfg.tiles, "*.npy")))
    n_val = len(files) // 20
    val_dl = DataLoader(TileViews(files[:n_val], cfg.crop), cfg.batch_size)
    train_dl = DataLoader(TileViews(files[n_val:], cfg.crop), cfg.batch_size, shuffle=True, drop_last=True,
                          num_workers=cfg.num_workers)

    model = BYOL(cfg).to(device)
    trainable = list(model.online.parameters()) + list(model.predictor.parameters())
    optimizer = torch.optim.AdamW(trainable, lr=cfg.lr, weight_decay=cfg.weight_decay)
    total = cfg.epochs * len(train_dl)
    warmup = cfg.warmup_epochs * len(train_dl)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: schedule(s, total, warmup))

    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        running = 0.0
        for a, b in train_dl:
            loss = model(a.to(device), b.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            m = 1 - (1 - cfg.base_momentum) * 0.5 * (1 + math.cos(math.pi * step / total))
            model.update_target(m)
            step += 1
            running += loss.item()

        model.eval()
        with torch.no_grad():
            val = np.mean([model(a.to(device), b.to(device)).item() for a, b in val_dl]) if n_val else float("nan")
            spread = np.mean([F.normalize(model.online(a.to(device)), dim=-1).std(0).mean().item()
                              for a, _ in val_dl]) if n_val else float("nan")
        print(f"epoch {epoch:3d} loss {running / len(train_dl):.4f} val {val:.4f} std {spread:.4f} m {m:.5f}")
        torch.save({"online": model.online[0].state_dict(), "epoch": epoch}, os.path.join(cfg.out, "encoder.pt"))


if __name__ == "__main__":
    import sys

    overrides = yaml.safe_load(open(sys.argv[1])) if len(sys.argv) > 1 else {}
    train(Cfg(**overrides))
