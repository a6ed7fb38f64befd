"""Small U-Net for semantic segmentation.  python train_seg.py --config data/seg/unet.yaml"""
import argparse
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class SegDataset(Dataset):
    def __init__(self, root, names, augment):
        self.augment = augment
        root = Path(root)
        self.pairs = []
        for n in names:
            img = np.asarray(Image.open(root / "images" / n).convert("RGB"), dtype=np.float32) / 255.0
            mask = np.asarray(Image.open(root / "masks" / n), dtype=np.int64)
            self.pairs.append((img, mask))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        img, mask = self.pairs[i]
        if self.augment:
            if random.random() < 0.5:
                img, mask = img[:, ::-1], mask[:, ::-1]
            if random.random() < 0.5:
                img, mask = img[::-1], mask[::-1]
            img = img * random.uniform(0.9, 1.1) + random.uniform(-0.05, 0.05)
        img = torch.from_numpy(np.ascontiguousarray(img, dtype=np.float32)).permute(2, 0, 1)
        return (img - 0.45) / 0.22, torch.from_numpy(np.ascontiguousarray(mask))


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.d1 = double_conv(3, width)
        self.d2 = double_conv(width, 2 * width)
        self.mid = double_conv(2 * width, 4 * width)
        self.u2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.c2 = double_conv(4 * width, 2 * width)
        self.u1 = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.c1 = double_conv(2 * width, width)
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        y = self.c2(torch.cat([self.u2(m), b], 1))
        y = self.c1(torch.cat([self.u1(y), a], 1))
        return self.out(y)


def dice_loss(logits, target, classes, eps=1.0):
    prob = logits.softmax(1)
    onehot = F.one_hot(target, classes).permute(0, 3, 1, 2).float()
    inter = (prob * onehot).sum((0, 2, 3))
    denom = prob.sum((0, 2, 3)) + onehot.sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (denom + eps)).mean()


@torch.no_grad()
def mean_iou(model, loader, classes):
    model.eval()
    cm = torch.zeros(classes, classes)
    for x, y in loader:
        pred = model(x).argmax(1)
        cm += torch.bincount(y.flatten() * classes + pred.flatten(), minlength=classes ** 2).view(classes, classes)
    inter = cm.diag()
    iou = inter / (cm.sum(0) + cm.sum(1) - inter).clamp(min=1)
    return iou.mean().item(), [round(v, 3) for v in iou.tolist()]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    cfg = yaml.safe_load(open(ap.parse_args().config))
    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])

    data, optim = cfg["data"], cfg["optim"]
    names = sorted(p.name for p in (Path(data["root"]) / "images").glob("*.png"))
    random.Random(cfg["seed"]).shuffle(names)
    n_val = int(len(names) * data["val_fraction"])
    train_set = SegDataset(data["root"], names[n_val:], data["augment"])
    val_set = SegDataset(data["root"], names[:n_val], False)
    train_loader = DataLoader(train_set, optim["batch_size"], shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, 64)

    model = UNet(data["classes"], cfg["model"]["width"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=optim["lr"], weight_decay=optim["weight_decay"])
    scheduler = torch.optim.lr_scheduler.PolynomialLR(
        optimizer, total_iters=optim["epochs"] * len(train_loader), power=0.9)

    out = Path(cfg["out"])
    out.mkdir(parents=True, exist_ok=True)
    best = 0.0
    for epoch in range(optim["epochs"]):
        model.train()
        total = 0.0
        for x, y in train_loader:
            logits = model(x)
            loss = F.cross_entropy(logits, y) + dice_loss(logits, y, data["classes"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        miou, per_class = mean_iou(model, val_loader, data["classes"])
        print(f"epoch {epoch:2d} loss {total / len(train_loader):.4f} mIoU {miou:.4f} {per_class}")
        if miou > best:
            best = miou
            torch.save({"model": model.state_dict(), "cfg": cfg, "miou": miou}, out / "best.pt")
    print(f"best mIoU {best:.4f}")


if __name__ == "__main__":
    main()
