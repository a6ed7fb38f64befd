#!/usr/bin/env python
"""Semantic segmentation, fp16 autocast, gradient accumulation over `--accum` micro-batches."""
import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class NpySegmentation(Dataset):
    """Folder with images.npy (N,H,W,3 uint8) and labels.npy (N,H,W uint8, 255 = ignore)."""

    def __init__(self, folder):
        self.images = np.load(os.path.join(folder, "images.npy"), mmap_mode="r")
        self.labels = np.load(os.path.join(folder, "labels.npy"), mmap_mode="r")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        x = torch.from_numpy(np.array(self.images[i])).permute(2, 0, 1).float() / 127.5 - 1
        y = torch.from_numpy(np.array(self.labels[i])).long()
        if torch.rand(()) < 0.5:
            x, y = x.flip(-1), y.flip(-1)
        return x, y


class FCN(nn.Module):
    def __init__(self, classes, w=32):
        super().__init__()

        def stage(a, b, s):
            return nn.Sequential(nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))

        self.s1 = nn.Sequential(stage(3, w, 2), stage(w, w, 1))
        self.s2 = nn.Sequential(stage(w, 2 * w, 2), stage(2 * w, 2 * w, 1))
        self.s3 = nn.Sequential(stage(2 * w, 4 * w, 2), stage(4 * w, 4 * w, 1))
        self.c2, self.c3 = nn.Conv2d(2 * w, classes, 1), nn.Conv2d(4 * w, classes, 1)

    def forward(self, x):
        size = x.shape[-2:]
        h = self.s2(self.s1(x))
        low = self.c3(self.s3(h))
        out = self.c2(h) + F.interpolate(low, size=h.shape[-2:], mode="bilinear", align_corners=False)
        return F.interpolate(out, size=size, mode="bilinear", align_corners=False)


def endless(loader):
    while True:
        yield from loader


def miou(model, loader, classes, device):
    was_training = model.training
    model.eval()
    conf = torch.zeros(classes, classes, dtype=torch.long)
    with torch.inference_mode():
        for x, y in loader:
            pred = model(x.to(device)).argmax(1).cpu()
            keep = y != 255
            conf += torch.bincount(classes * y[keep] + pred[keep], minlength=classes**2).view(classes, classes)
    model.train(was_training)
    inter = conf.diag().float()
    return (inter / (conf.sum(0) + conf.sum(1) - conf.diag()).clamp(min=1)).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("train_dir")
    ap.add_argument("val_dir")
    ap.add_argument("--classes", type=int, default=19)
    ap.add_argument("--updates", type=int, default=20000)
    ap.add_argument("--micro-batch", type=int, default=4)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--clip", type=float, default=10.0)
    ap.add_argument("--eval-every", type=int, default=1000)
    ap.add_argument("--out", default="fcn.pt")
    args = ap.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    amp = device == "cuda"
    train = DataLoader(NpySegmentation(args.train_dir), args.micro_batch, shuffle=True, num_workers=4, drop_last=True)
    val = DataLoader(NpySegmentation(args.val_dir), 8, num_workers=2)
    model = FCN(args.classes).to(device).train()
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=args.updates, power=0.9)
    scaler = torch.amp.GradScaler(device, enabled=amp, growth_interval=500)
    stream = endless(train)

    for update in range(1, args.updates + 1):
        opt.zero_grad(set_to_none=True)
        logged = 0.0
        for _ in range(args.accum):
            x, y = next(stream)
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with torch.autocast(device, dtype=torch.float16, enabled=amp):
                loss = F.cross_entropy(model(x), y, ignore_index=255) / args.accum
            scaler.scale(loss).backward()
            logged += loss.item()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() >= before:
            sched.step()
        if update % 100 == 0:
            print(f"{update}/{args.updates} loss {logged:.4f} lr {sched.get_last_lr()[0]:.5f} scale {scaler.get_scale():.0f}")
        if update % args.eval_every == 0:
            print(f"  mIoU {miou(model, val, args.classes, device):.4f}")
            torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
