"""Fine-tune a pre-trained ViT encoder with layer-wise learning-rate decay.
Data: train.npz / val.npz with 'images' (N,H,W,3) uint8 and 'labels' (N,)."""
import json
import math
import os
import sys
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    data: str = "histology"
    checkpoint: str = "mae_vit.pt"
    out: str = "vit_ft"
    size: int = 96
    patch: int = 8
    dim: int = 384
    depth: int = 12
    heads: int = 6
    batch: int = 64
    epochs: int = 30
    warmup_epochs: int = 3
    lr: float = 1e-3
    min_lr: float = 1e-6
    layer_decay: float = 0.65
    weight_decay: float = 0.05
    smoothing: float = 0.1


class NpzImages(Dataset):
    def __init__(self, path, train):
        z = np.load(path)
        self.x, self.y, self.train = z["images"], z["labels"].astype(np.int64), train

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = torch.from_numpy(self.x[i]).permute(2, 0, 1).float() / 255
        x = (x - 0.5) / 0.25
        if self.train:
            x = torch.rot90(x, int(torch.randint(0, 4, (1,))), (1, 2))
            if torch.rand(1) < 0.5:
                x = x.flip(2)
        return x, int(self.y[i])


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, cfg, n_cls):
        super().__init__()
        n = (cfg.size // cfg.patch) ** 2
        self.patch_embed = nn.Conv2d(3, cfg.dim, cfg.patch, cfg.patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, cfg.dim))
        self.pos_embed = nn.Parameter(torch.randn(1, n + 1, cfg.dim) * 0.02)
        self.blocks = nn.ModuleList(Block(cfg.dim, cfg.heads) for _ in range(cfg.depth))
        self.norm = nn.LayerNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, n_cls)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x)[:, 0])


def layer_id(name, depth):
    if name.startswith(("patch_embed", "cls_token", "pos_embed")):
        return 0
    if name.startswith("blocks."):
        return int(name.split(".")[1]) + 1
    return depth + 1


def build_groups(model, cfg):
    groups = {}
    for name, p in model.named_parameters():
        lid = layer_id(name, cfg.depth)
        wd = 0.0 if p.ndim == 1 or name in ("cls_token", "pos_embed") else cfg.weight_decay
        scale = cfg.layer_decay ** (cfg.depth + 1 - lid)
        g = groups.setdefault((lid, wd), {"params": [], "weight_decay": wd, "lr_scale": scale, "lr": cfg.lr * scale})
        g["params"].append(p)
    return list(groups.values())


def set_lr(optimizer, epoch, cfg):
    if epoch < cfg.warmup_epochs:
        lr = cfg.lr * epoch / cfg.warmup_epochs
    else:
        t = (epoch - cfg.warmup_epochs) / max(1e-8, cfg.epochs - cfg.warmup_epochs)
        lr = cfg.min_lr + 0.5 * (cfg.lr - cfg.min_lr) * (1 + math.cos(math.pi * t))
    for g in optimizer.param_groups:
        g["lr"] = lr
    return lr


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def main(cfg):
    os.makedirs(cfg.out, exist_ok=True)
    with open(os.path.join(cfg.out, "config.json"), "w") as f:
        json.dump(asdict(cfg), f, indent=2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_ds = NpzImages(os.path.join(cfg.data, "train.npz"), True)
    val_ds = NpzImages(os.path.join(cfg.data, "val.npz"), False)
    train_dl = DataLoader(train_ds, cfg.batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, cfg.batch)

    model = ViT(cfg, int(train_ds.y.max()) + 1)
    state = torch.load(cfg.checkpoint, map_location="cpu")
    state = {k: v for k, v in state.items() if not k.startswith("head.")}
    missing, unexpected = model.load_state_dict(state, strict=False)
    print("missing", missing, "unexpected", unexpected)
    model.to(device)
    optimizer = torch.optim.AdamW(build_groups(model, cfg), lr=cfg.lr, betas=(0.9, 0.999))

    best = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for i, (x, y) in enumerate(train_dl):
            lr = set_lr(optimizer, epoch + i / len(train_dl), cfg)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                logits = model(x.to(device))
            loss = F.cross_entropy(logits.float(), y.to(device), label_smoothing=cfg.smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        acc = accuracy(model, val_dl, device)
        print(f"epoch {epoch} loss {total / len(train_dl):.4f} lr {lr:.2e} val {acc:.4f}")
        if acc > best:
            best = acc
            torch.save(model.state_dict(), os.path.join(cfg.out, "best.pt"))


if __name__ == "__main__":
    main(Config(**(json.load(open(sys.argv[1])) if len(sys.argv) > 1 else {})))
