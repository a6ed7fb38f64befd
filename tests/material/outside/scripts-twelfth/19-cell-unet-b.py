import argparse
import csv
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class Cells(Dataset):
    def __init__(self, path):
        blob = np.load(path)
        self.image, self.mask = blob["image"], blob["mask"]

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return torch.from_numpy(self.image[i])[None], torch.from_numpy(self.mask[i]).float()[None]


def double_conv(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(),
        nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(),
    )


class UNet(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.d1, self.d2, self.mid = double_conv(1, w), double_conv(w, 2 * w), double_conv(2 * w, 4 * w)
        self.u2 = nn.ConvTranspose2d(4 * w, 2 * w, 2, 2)
        self.c2 = double_conv(4 * w, 2 * w)
        self.u1 = nn.ConvTranspose2d(2 * w, w, 2, 2)
        self.c1 = double_conv(2 * w, w)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        b = self.c2(torch.cat([self.u2(m), b], 1))
        a = self.c1(torch.cat([self.u1(b), a], 1))
        return self.out(a)


def dice_bce(logits, target):
    p = logits.sigmoid()
    inter = (p * target).sum((1, 2, 3))
    dice = 1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logits, target) + dice.mean()


@torch.no_grad()
def mean_iou(model, loader, device):
    model.eval()
    scores = []
    for x, y in loader:
        p = model(x.to(device)).cpu() > 0
        y = y > 0.5
        scores += ((p & y).sum((1, 2, 3)) / (p | y).sum((1, 2, 3)).clamp(min=1)).tolist()
    return sum(scores) / len(scores)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/cells.npz")
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--warmup-iters", type=int, default=20)
    ap.add_argument("--power", type=float, default=0.9)
    ap.add_argument("--compile", action="store_true")
    ap.add_argument("--log", default="unet_log.csv")
    args = ap.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    full = Cells(args.data)
    n_val = len(full) // 6
    train_ds, val_ds = random_split(full, [len(full) - n_val, n_val])
    train_dl = DataLoader(train_ds, args.batch_size, shuffle=True)
    val_dl = DataLoader(val_ds, args.batch_size)

    model = UNet().to(device)
    net = torch.compile(model) if args.compile else model
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    max_iters = args.epochs * len(train_dl)

    def poly(it):
        if it < args.warmup_iters:
            return (it + 1) / args.warmup_iters
        return max(0.0, 1 - it / max_iters) ** args.power

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, poly)

    new_log = not os.path.exists(args.log)
    with open(args.log, "a", newline="") as f:
        writer = csv.writer(f)
        if new_log:
            writer.writerow(["epoch", "loss", "iou", "lr"])
        for epoch in range(args.epochs):
            net.train()
            total = 0.0
            for x, y in train_dl:
                x, y = x.to(device), y.to(device)
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                    logits = net(x)
                loss = dice_bce(logits.float(), y)
                loss.backward()
                optimizer.step()
                scheduler.step()
                total += loss.item()
            iou = mean_iou(model, val_dl, device)
            lr = optimizer.param_groups[0]["lr"]
            writer.writerow([epoch, total / len(train_dl), iou, lr])
            f.flush()
            print(f"epoch {epoch} loss {total / len(train_dl):.4f} iou {iou:.3f} lr {lr:.5f}")
    torch.save(model.state_dict(), "unet.pt")


if __name__ == "__main__":
    main()
