"""Two-phase fine-tuning on chest x-rays stored as arrays.

images.npy  (N, H, W) uint8,   labels.npy  (N,) int
Phase 1 trains the head alone, from epoch `unfreeze_at` on the whole network is fine-tuned with a
ten times smaller learning rate for the backbone.
"""
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler
from torchvision.models import mobilenet_v3_small


@dataclass
class Cfg:
    root: Path = Path("data/xray")
    weights: str = ""            # optional state dict for the backbone
    epochs: int = 20
    unfreeze_at: int = 5
    batch_size: int = 32
    head_lr: float = 1e-3
    backbone_lr: float = 1e-4
    weight_decay: float = 1e-4
    val_fraction: float = 0.2
    seed: int = 13

    @classmethod
    def from_cli(cls, argv):
        cfg = cls()
        for item in argv:
            key, _, value = item.partition("=")
            kind = type(getattr(cfg, key))
            setattr(cfg, key, kind(value))
        return cfg


class Arrays(Dataset):
    def __init__(self, images, labels, train):
        self.images, self.labels, self.train = images, labels, train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i].astype("float32") / 255.0)
        if self.train and torch.rand(()) < 0.5:
            x = x.flip(1)
        x = (x - 0.48) / 0.25
        return x.expand(3, -1, -1), int(self.labels[i])


class Net(nn.Module):
    def __init__(self, classes, weights=""):
        super().__init__()
        base = mobilenet_v3_small(weights=None)
        if weights:
            base.load_state_dict(torch.load(weights, map_location="cpu"))
        self.backbone = base.features
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(576, 128), nn.Hardswish(),
                                  nn.Dropout(0.2), nn.Linear(128, classes))
        self.frozen = False

    def freeze_backbone(self, frozen):
        self.frozen = frozen
        for p in self.backbone.parameters():
            p.requires_grad_(not frozen)

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def loaders(cfg):
    images, labels = np.load(cfg.root / "images.npy", mmap_mode="r"), np.load(cfg.root / "labels.npy")
    order = np.random.default_rng(cfg.seed).permutation(len(labels))
    cut = int(len(order) * cfg.val_fraction)
    va, tr = np.sort(order[:cut]), np.sort(order[cut:])
    counts = np.bincount(labels[tr])
    sampler = WeightedRandomSampler(1.0 / counts[labels[tr]], len(tr))
    train = DataLoader(Arrays(images[tr], labels[tr], True), cfg.batch_size, sampler=sampler, drop_last=True)
    return train, DataLoader(Arrays(images[va], labels[va], False), cfg.batch_size), int(labels.max()) + 1


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    cfg = Cfg.from_cli(sys.argv[1:])
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_dl, val_dl, classes = loaders(cfg)
    net = Net(classes, cfg.weights).to(device)
    net.freeze_backbone(True)
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=cfg.head_lr,
                                  weight_decay=cfg.weight_decay)
    for epoch in range(cfg.epochs):
        if epoch == cfg.unfreeze_at:
            net.freeze_backbone(False)
            logging.info("epoch %d: backbone unfrozen", epoch)
        net.train()
        total = n = 0
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        net.eval()
        with torch.no_grad():
            ok = sum((net(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in val_dl)
        logging.info("epoch %d loss %.4f val acc %.4f", epoch, total / max(1, n), ok / max(1, len(val_dl.dataset)))
        torch.save(net.state_dict(), "xray.pt")


if __name__ == "__main__":
    main()
