"""Regress the two eye positions in face crops; Lightning Fabric.

    data/faces/labels.csv : file,x1,y1,x2,y2   (relative to the image, 0..1)
    data/faces/images/    : the pictures
"""
import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.fabric import Fabric
from PIL import Image
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    root: str = "data/faces"
    size: int = 40
    batch_size: int = 8
    accum: int = 4
    epochs: int = 6
    lr: float = 4e-3
    warmup_updates: int = 4
    min_factor: float = 0.01
    max_norm: float = 1.0
    precision: str = "bf16-mixed"
    seed: int = 21


class Faces(Dataset):
    def __init__(self, root, size):
        self.root, self.size = Path(root), size
        with open(self.root / "labels.csv", newline="") as f:
            self.rows = list(csv.DictReader(f))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        img = Image.open(self.root / "images" / r["file"]).convert("L").resize((self.size, self.size))
        x = torch.from_numpy(np.array(img, dtype=np.float32))[None] / 127.5 - 1
        return x, torch.tensor([float(r[k]) for k in ("x1", "y1", "x2", "y2")])


class EyeNet(nn.Module):
    def __init__(self, w=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, w, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(w, 2 * w, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(2 * w, 2 * w, 3, 2, 1), nn.ReLU(),
            nn.Flatten(), nn.LazyLinear(64), nn.ReLU(), nn.Linear(64, 4),
        )

    def forward(self, x):
        return self.net(x)


def warmup_cosine(optimizer, warmup, total, floor):
    def factor(u):
        if u < warmup:
            return (u + 1) / warmup
        p = min(1.0, (u - warmup) / max(1, total - warmup))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * p))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@torch.no_grad()
def mean_error(model, loader):
    model.eval()
    err = [(model(x).float() - y).view(-1, 2, 2).norm(dim=2).mean(1) for x, y in loader]
    model.train()
    return torch.cat(err).mean().item()


def run(cfg):
    fabric = Fabric(accelerator="auto", devices=1, precision=cfg.precision)
    fabric.seed_everything(cfg.seed)
    data = Faces(cfg.root, cfg.size)
    n_val = max(1, len(data) // 6)
    tr, va = torch.utils.data.random_split(data, [len(data) - n_val, n_val])
    train_loader = DataLoader(tr, cfg.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(va, cfg.batch_size)

    model = EyeNet()
    model(torch.zeros(1, 1, cfg.size, cfg.size))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-2)
    model, optimizer = fabric.setup(model, optimizer)
    train_loader, val_loader = fabric.setup_dataloaders(train_loader, val_loader)

    n = len(train_loader)
    total_updates = n * cfg.epochs
    scheduler = warmup_cosine(optimizer, cfg.warmup_updates, total_updates, cfg.min_factor)

    update = 0
    model.train()
    for epoch in range(cfg.epochs):
        running = 0.0
        for i, (x, y) in enumerate(train_loader):
            last = (i + 1) % cfg.accum == 0 or i + 1 == n
            size = min(cfg.accum, n - i // cfg.accum * cfg.accum)
            with fabric.no_backward_sync(model, enabled=not last):
                loss = F.smooth_l1_loss(model(x), y, beta=0.05)
                fabric.backward(loss / size)
            running += loss.item()
            if last:
                fabric.clip_gradients(model, optimizer, max_norm=cfg.max_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                update += 1
        lr = scheduler.get_last_lr()[0]
        fabric.print(f"epoch {epoch} update {update} loss {running / n:.4f} err {mean_error(model, val_loader):.4f} lr {lr:.2e}")
    fabric.save("eyenet.ckpt", {"model": model, "config": vars(cfg)})


if __name__ == "__main__":
    run(Config())
