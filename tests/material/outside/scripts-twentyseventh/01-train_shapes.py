#!/usr/bin/env python
"""Train a small ConvNet on synthetic shape images (circle / square / cross / stripes)."""
import argparse
import logging
import math
import os
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
log = logging.getLogger("shapes")


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--accum-steps", type=int, default=4)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--weight-decay", type=float, default=0.05)
    p.add_argument("--warmup-updates", type=int, default=5)
    p.add_argument("--clip-grad", type=float, default=1.0)
    p.add_argument("--train-size", type=int, default=2048)
    p.add_argument("--val-size", type=int, default=512)
    p.add_argument("--out", default="runs/shapes")
    p.add_argument("--resume", action="store_true")
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


class ShapeDataset(Dataset):
    def __init__(self, n, seed, size=24):
        self.n, self.seed, self.size = n, seed, size

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        rng = np.random.default_rng(self.seed * 1_000_003 + idx)
        s = self.size
        yy, xx = np.mgrid[:s, :s]
        cy, cx = rng.uniform(8, s - 8, size=2)
        r = rng.uniform(4, 8)
        label = idx % 4
        if label == 0:
            mask = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
        elif label == 1:
            mask = (abs(yy - cy) < r) & (abs(xx - cx) < r)
        elif label == 2:
            mask = (abs(yy - cy) < 1.5) | (abs(xx - cx) < 1.5)
        else:
            mask = ((yy + xx) // 3) % 2 == 0
        color = rng.uniform(0.3, 1.0, size=3)
        img = mask[None] * color[:, None, None] + rng.normal(0, 0.25, (3, s, s))
        return torch.tensor(img, dtype=torch.float32), label


class ConvNet(nn.Module):
    def __init__(self, num_classes=4, width=16):
        super().__init__()
        layers, cin = [], 3
        for mult in (1, 2, 4):
            cout = width * mult
            layers += [nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.GroupNorm(4, cout), nn.GELU()]
            cin = cout
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(cin, num_classes)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


def build_scheduler(optimizer, warmup, total):
    def factor(update):
        if update < warmup:
            return (update + 1) / (warmup + 1)
        progress = (update - warmup) / max(1, total - warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    loss_sum = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss_sum += F.cross_entropy(logits, y, reduction="sum").item()
        correct += (logits.argmax(1) == y).sum().item()
        total += y.numel()
    return loss_sum / total, correct / total


def main():
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_loader = DataLoader(ShapeDataset(args.train_size, 1), batch_size=args.batch_size,
                              shuffle=True, drop_last=True)
    val_loader = DataLoader(ShapeDataset(args.val_size, 2), batch_size=128)

    model = ConvNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    updates_per_epoch = len(train_loader) // args.accum_steps
    total_updates = updates_per_epoch * args.epochs
    scheduler = build_scheduler(optimizer, args.warmup_updates, total_updates)

    start_epoch, best = 0, 0.0
    ckpt_path = os.path.join(args.out, "last.pt")
    if args.resume and os.path.exists(ckpt_path):
        ckpt = torch.load(ckpt_path, map_location=device)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        start_epoch, best = ckpt["epoch"] + 1, ckpt["best"]
        log.info("resumed from epoch %d", start_epoch)

    log.info("%d micro-batches and %d updates per epoch", len(train_loader), updates_per_epoch)
    for epoch in range(start_epoch, args.epochs):
        model.train()
        t0, running = time.time(), 0.0
        optimizer.zero_grad(set_to_none=True)
        for i, (x, y) in enumerate(train_loader):
            if i >= updates_per_epoch * args.accum_steps:
                break
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            (loss / args.accum_steps).backward()
            running += loss.item()
            if (i + 1) % args.accum_steps == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                scheduler.step()

        val_loss, val_acc = evaluate(model, val_loader, device)
        log.info("epoch %d train %.4f val %.4f acc %.3f lr %.2e (%.1fs)", epoch, running / len(train_loader),
                 val_loss, val_acc, scheduler.get_last_lr()[0], time.time() - t0)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                 "scheduler": scheduler.state_dict(), "epoch": epoch, "best": max(best, val_acc)}
        torch.save(state, ckpt_path)
        if val_acc > best:
            best = val_acc
            torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))
    log.info("best accuracy %.3f", best)


if __name__ == "__main__":
    main()
