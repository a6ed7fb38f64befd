"""Cell detector in the spirit of CenterNet.

images/*.png and boxes.jsonl with {"file": "0001.png", "boxes": [[x1, y1, x2, y2], ...]}
The backbone starts from a self-supervised checkpoint and is frozen for the first epochs.
"""
import argparse
import json
import os

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset

STRIDE = 4


class Cells(Dataset):
    def __init__(self, root, records, size):
        self.root, self.records, self.size = root, records, size

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        rec = self.records[i]
        im = Image.open(os.path.join(self.root, "images", rec["file"])).convert("L")
        sx, sy = self.size / im.width, self.size / im.height
        im = np.asarray(im.resize((self.size, self.size)), dtype=np.float32) / 255.0
        g = self.size // STRIDE
        heat = torch.zeros(g, g)
        wh = torch.zeros(2, g, g)
        pos = torch.zeros(g, g)
        yy, xx = torch.meshgrid(torch.arange(g), torch.arange(g), indexing="ij")
        for x1, y1, x2, y2 in rec["boxes"]:
            w, h = (x2 - x1) * sx / STRIDE, (y2 - y1) * sy / STRIDE
            cx = min(g - 1, int((x1 + x2) / 2 * sx / STRIDE))
            cy = min(g - 1, int((y1 + y2) / 2 * sy / STRIDE))
            sigma = max(0.5, (w + h) / 12)
            heat = torch.maximum(heat, torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * sigma ** 2)))
            heat[cy, cx] = 1
            pos[cy, cx] = 1
            wh[:, cy, cx] = torch.tensor([w, h])
        return torch.from_numpy(im)[None], heat, wh, pos


def cgr(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.GroupNorm(8, o), nn.ReLU(inplace=True))


class Backbone(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.stages = nn.Sequential(cgr(1, w, 2), cgr(w, w), cgr(w, 2 * w, 2), cgr(2 * w, 2 * w), cgr(2 * w, 2 * w))

    def forward(self, x):
        return self.stages(x)


class Detector(nn.Module):
    def __init__(self, w=32):
        super().__init__()
        self.backbone = Backbone(w)
        self.heat = nn.Sequential(cgr(2 * w, 2 * w), nn.Conv2d(2 * w, 1, 1))
        self.size = nn.Sequential(cgr(2 * w, 2 * w), nn.Conv2d(2 * w, 2, 1))
        nn.init.constant_(self.heat[-1].bias, -2.19)

    def forward(self, x):
        f = self.backbone(x)
        return self.heat(f).squeeze(1), self.size(f)


def focal(logits, heat, pos):
    p = logits.sigmoid().clamp(1e-4, 1 - 1e-4)
    hit = -((1 - p) ** 2) * p.log() * pos
    miss = -((1 - heat) ** 4) * p ** 2 * (1 - p).log() * (1 - pos)
    return (hit.sum() + miss.sum()) / pos.sum().clamp(min=1)


def detection_loss(out, heat, wh, pos):
    logits, size = out
    l1 = ((size - wh).abs() * pos[:, None]).sum() / pos.sum().clamp(min=1)
    return focal(logits, heat, pos), 0.1 * l1


def run(model, loader, device, opt=None):
    model.train(opt is not None)
    sums = np.zeros(2)
    with torch.set_grad_enabled(opt is not None):
        for x, heat, wh, pos in loader:
            x, heat, wh, pos = (t.to(device) for t in (x, heat, wh, pos))
            f, s = detection_loss(model(x), heat, wh, pos)
            if opt is not None:
                opt.zero_grad()
                (f + s).backward()
                opt.step()
            sums += [f.item(), s.item()]
    return sums / max(1, len(loader))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="data/cells")
    ap.add_argument("--backbone", default="backbone_ssl.pt")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--freeze-epochs", type=int, default=5)
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--width", type=int, default=32)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--backbone-lr", type=float, default=2e-4)
    args = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with open(os.path.join(args.root, "boxes.jsonl")) as f:
        records = [json.loads(line) for line in f]
    cut = int(len(records) * 0.85)
    train = DataLoader(Cells(args.root, records[:cut], args.size), args.batch, shuffle=True)
    val = DataLoader(Cells(args.root, records[cut:], args.size), args.batch)

    model = Detector(args.width).to(device)
    if os.path.exists(args.backbone):
        model.backbone.load_state_dict(torch.load(args.backbone, map_location=device))
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)

    best = float("inf")
    for epoch in range(args.epochs):
        if epoch == args.freeze_epochs:
            print("unfreezing the backbone")
            model.backbone.requires_grad_(True)
            optimizer.add_param_group({"params": list(model.backbone.parameters()), "lr": args.backbone_lr})
        lrs = [g["lr"] for g in optimizer.param_groups]
        f, s = run(model, train, device, optimizer)
        vf, vs = run(model, val, device)
        print(f"epoch {epoch} lr {lrs} heat {f:.4f} size {s:.4f} | val heat {vf:.4f} size {vs:.4f}")
        if vf + vs < best:
            best = vf + vs
            torch.save(model.state_dict(), "cells.pt")


if __name__ == "__main__":
    main()
