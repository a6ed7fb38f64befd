"""Road extraction from aerial tiles with a small U-Net.

data/roads/{train,val}/images/*.png   RGB tiles
data/roads/{train,val}/masks/*.png    0 / 255
"""
import argparse
import glob
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="data/roads")
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--clip", type=float, default=0.5)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--out", default="unet_roads.pt")
    return p.parse_args()


class Tiles(Dataset):
    def __init__(self, root, split, augment):
        self.images = sorted(glob.glob(os.path.join(root, split, "images", "*.png")))
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        path = self.images[i]
        img = np.asarray(Image.open(path).convert("RGB"), dtype=np.float32) / 255.0
        msk = np.asarray(Image.open(path.replace("images", "masks")).convert("L")) > 127
        img = torch.from_numpy(img).permute(2, 0, 1)
        msk = torch.from_numpy(msk.astype(np.float32))[None]
        if self.augment:
            if random.random() < 0.5:
                img, msk = img.flip(-1), msk.flip(-1)
            if random.random() < 0.5:
                img, msk = img.flip(-2), msk.flip(-2)
        return (img - 0.45) / 0.22, msk


def block(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False), nn.GroupNorm(8, o), nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1, bias=False), nn.GroupNorm(8, o), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, w=32, depth=3):
        super().__init__()
        chans = [w * 2 ** k for k in range(depth + 1)]
        self.down = nn.ModuleList(block(i, o) for i, o in zip([3] + chans[:-1], chans))
        self.up = nn.ModuleList(block(a + b, b) for a, b in zip(chans[:0:-1], chans[-2::-1]))
        self.head = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        skips = []
        for k, d in enumerate(self.down):
            x = d(x if k == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for u in self.up:
            s = skips.pop()
            x = F.interpolate(x, size=s.shape[-2:], mode="bilinear", align_corners=False)
            x = u(torch.cat([x, s], 1))
        return self.head(x)


def loss_fn(logits, target):
    bce = F.binary_cross_entropy_with_logits(logits, target)
    prob = logits.sigmoid()
    inter = (prob * target).sum((1, 2, 3))
    dice = 1 - (2 * inter + 1) / (prob.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)
    return bce + dice.mean()


@torch.no_grad()
def iou(model, loader, device):
    model.eval()
    inter = union = 0.0
    for x, y in loader:
        p = model(x.to(device)) > 0
        y = y.to(device) > 0.5
        inter += (p & y).sum().item()
        union += (p | y).sum().item()
    return inter / max(union, 1)


def main():
    args = get_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train = DataLoader(Tiles(args.root, "train", True), args.batch_size, shuffle=True,
                       num_workers=args.workers, drop_last=True)
    val = DataLoader(Tiles(args.root, "val", False), args.batch_size, num_workers=args.workers)

    model = UNet(args.width).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    updates = len(train) // args.accum
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * updates)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        running = 0.0
        usable = updates * args.accum
        for i, (x, y) in enumerate(train):
            if i == usable:
                break
            loss = loss_fn(model(x.to(device)), y.to(device))
            (loss / args.accum).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            running += loss.item()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
        score = iou(model, val, device)
        print(f"epoch {epoch:03d} loss {running / max(usable, 1):.4f} val IoU {score:.4f}")
        if score >= best:
            best = score
            torch.save(model.state_dict(), args.out)
    print("best IoU", best)


if __name__ == "__main__":
    main()
