"""3D V-Net style segmentation of liver CT volumes (npz files with `image` and `label`)."""
import argparse
import glob
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train-dir", required=True)
    ap.add_argument("--val-dir", required=True)
    ap.add_argument("--patch", type=int, nargs=3, default=[64, 128, 128])
    ap.add_argument("--crops-per-volume", type=int, default=4)
    ap.add_argument("--accumulate", type=int, default=8, help="patches per optimizer step, GPU memory allows only one at a time")
    ap.add_argument("--epochs", type=int, default=300)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--ch", type=int, default=16)
    ap.add_argument("--seed", type=int, default=2023)
    ap.add_argument("--save-dir", default="checkpoints")
    return ap.parse_args()


class CTPatches(Dataset):
    def __init__(self, folder, patch, crops, train):
        self.files = sorted(glob.glob(os.path.join(folder, "*.npz")))
        self.patch, self.crops, self.train = patch, crops if train else 1, train

    def __len__(self):
        return len(self.files) * self.crops

    def __getitem__(self, i):
        with np.load(self.files[i // self.crops]) as z:
            img, lab = z["image"].astype(np.float32), z["label"].astype(np.int64)
        img = (np.clip(img, -160, 240) + 160) / 400
        sl = []
        for n, p in zip(img.shape, self.patch):
            s = random.randint(0, n - p) if self.train else (n - p) // 2
            sl.append(slice(s, s + p))
        img, lab = img[tuple(sl)], lab[tuple(sl)]
        if self.train and random.random() < 0.5:
            img, lab = img[:, :, ::-1], lab[:, :, ::-1]
        return torch.from_numpy(img.copy())[None], torch.from_numpy(lab.copy())


class Block(nn.Sequential):
    def __init__(self, i, o, stride=1):
        super().__init__(
            nn.Conv3d(i, o, 3, stride, 1, bias=False), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01, True),
            nn.Conv3d(o, o, 3, 1, 1, bias=False), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01, True),
        )


class UNet3D(nn.Module):
    def __init__(self, ch, classes=2):
        super().__init__()
        self.e1, self.e2, self.e3 = Block(1, ch), Block(ch, 2 * ch, 2), Block(2 * ch, 4 * ch, 2)
        self.u2 = nn.ConvTranspose3d(4 * ch, 2 * ch, 2, 2)
        self.u1 = nn.ConvTranspose3d(2 * ch, ch, 2, 2)
        self.d2, self.d1 = Block(4 * ch, 2 * ch), Block(2 * ch, ch)
        self.out = nn.Conv3d(ch, classes, 1)

    def forward(self, x):
        a = self.e1(x)
        b = self.e2(a)
        c = self.e3(b)
        b = self.d2(torch.cat([self.u2(c), b], 1))
        a = self.d1(torch.cat([self.u1(b), a], 1))
        return self.out(a)


def dice_ce(logits, target):
    p = logits.softmax(1)[:, 1]
    t = (target == 1).float()
    dice = 1 - (2 * (p * t).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + 1)
    return F.cross_entropy(logits, target) + dice.mean()


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    scores = []
    for img, lab in loader:
        pred = model(img.to(device)).argmax(1).cpu()
        inter = ((pred == 1) & (lab == 1)).sum().item()
        scores.append((2 * inter + 1) / ((pred == 1).sum().item() + (lab == 1).sum().item() + 1))
    return float(np.mean(scores))


def main():
    args = get_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    os.makedirs(args.save_dir, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set = CTPatches(args.train_dir, args.patch, args.crops_per_volume, True)
    val_loader = DataLoader(CTPatches(args.val_dir, args.patch, 1, False), 1)
    train_loader = DataLoader(train_set, 1, shuffle=True)
    steps = len(train_loader) // args.accumulate

    model = UNet3D(args.ch).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.99, nesterov=True, weight_decay=3e-5)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=args.epochs, power=0.9)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        batches = iter(train_loader)
        for _ in range(steps):
            optimizer.zero_grad()
            for _ in range(args.accumulate):
                img, lab = next(batches)
                loss = dice_ce(model(img.to(device)), lab.to(device))
                (loss / args.accumulate).backward()
                running += loss.item()
            optimizer.step()
        scheduler.step()
        dice = validate(model, val_loader, device)
        print(f"[{epoch:03d}] loss {running / (steps * args.accumulate):.4f} val dice {dice:.4f} "
              f"lr {scheduler.get_last_lr()[0]:.5f}", flush=True)
        if dice > best:
            best = dice
            torch.save(model.state_dict(), os.path.join(args.save_dir, "best.pth"))


if __name__ == "__main__":
    main()
