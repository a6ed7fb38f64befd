"""
Binary segmentation with a small U-Net, half precision.

Data layout:
    data_dir/images/*.npy   float32 (C, H, W)
    data_dir/masks/*.npy    uint8 (H, W), same file names

    python unet_segment.py --data_dir data --epochs 30
"""
import argparse
import glob
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class NpyFolder(Dataset):
    def __init__(self, root, augment=False):
        self.images = sorted(glob.glob(os.path.join(root, "images", "*.npy")))
        if not self.images:
            raise FileNotFoundError(f"no images under {root}")
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(np.load(self.images[i])).float()
        mask = torch.from_numpy(np.load(self.images[i].replace("images", "masks"))).float()[None]
        img = (img - img.mean((1, 2), keepdim=True)) / (img.std((1, 2), keepdim=True) + 1e-5)
        return img, mask


def random_flips(img, mask):
    for d in (2, 3):
        if torch.rand(()) < 0.5:
            img, mask = img.flip(d), mask.flip(d)
    return img, mask


def double_conv(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, in_ch, base=16, depth=3):
        super().__init__()
        self.downs, self.ups, self.merges = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        ch = in_ch
        for d in range(depth):
            self.downs.append(double_conv(ch, base * 2 ** d))
            ch = base * 2 ** d
        self.bottom = double_conv(ch, ch * 2)
        ch = ch * 2
        for d in reversed(range(depth)):
            self.ups.append(nn.ConvTranspose2d(ch, ch // 2, 2, stride=2))
            self.merges.append(double_conv(ch, ch // 2))
            ch = ch // 2
        self.out = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        skips = []
        for d in self.downs:
            x = d(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for up, merge, skip in zip(self.ups, self.merges, reversed(skips)):
            x = merge(torch.cat([up(x), skip], 1))
        return self.out(x)


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid()
    inter = (p * target).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean()


def criterion(logits, target):
    logits = logits.float()
    return F.binary_cross_entropy_with_logits(logits, target) + dice_loss(logits, target)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    inter = union = 0.0
    for img, mask in loader:
        img, mask = img.to(device), mask.to(device)
        with torch.autocast(device.type, dtype=torch.float16):
            pred = model(img) > 0
        inter += (pred & (mask > 0.5)).sum().item()
        union += (pred | (mask > 0.5)).sum().item()
    return inter / max(union, 1.0)


def train(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = NpyFolder(args.data_dir)
    n_val = max(1, int(len(data) * args.val_fraction))
    train_set, val_set = random_split(data, [len(data) - n_val, n_val])
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True, num_workers=args.workers)
    val_loader = DataLoader(val_set, args.batch_size, num_workers=args.workers)

    model = UNet(data[0][0].shape[0]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    total = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda it: (1 - min(it, total - 1) / total) ** 0.9)
    scaler = torch.amp.GradScaler(device.type)

    best = -1.0
    for epoch in range(1, args.epochs + 1):
        model.train()
        running, norms = 0.0, []
        for img, mask in train_loader:
            img, mask = random_flips(img.to(device), mask.to(device))
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=torch.float16):
                logits = model(img)
            loss = criterion(logits, mask)
            scaler.scale(loss).backward()
            norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip).item())
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            running += loss.item()
        iou = evaluate(model, val_loader, device)
        print(f"epoch {epoch:3d} loss {running / len(train_loader):.4f} IoU {iou:.4f} "
              f"grad norm {np.median(norms):.3g} scale {scaler.get_scale():.0f}")
        if iou > best:
            best = iou
            torch.save({"model": model.state_dict(), "epoch": epoch, "iou": iou}, args.checkpoint)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--data_dir", default="data")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch_size", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--val_fraction", type=float, default=0.15)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--checkpoint", default="unet_best.pt")
    train(p.parse_args())
