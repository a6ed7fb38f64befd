"""Anchor-free blood-cell detector on top of a pretrained encoder.
annotations.json: {"images": [{"file": "...", "boxes": [[x1,y1,x2,y2,label], ...]}, ...]}
"""
import argparse
import json
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

STRIDE = 8


class CellDataset(Dataset):
    def __init__(self, root, ann, size, n_cls):
        self.root, self.size, self.n_cls = root, size, n_cls
        with open(os.path.join(root, ann)) as f:
            self.images = json.load(f)["images"]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        rec = self.images[i]
        img = Image.open(os.path.join(self.root, rec["file"])).convert("RGB")
        w, h = img.size
        img = img.resize((self.size, self.size))
        x = torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255 - 0.5
        g = self.size // STRIDE
        cls = torch.zeros(self.n_cls, g, g)
        box = torch.zeros(4, g, g)
        pos = torch.zeros(g, g)
        for x1, y1, x2, y2, label in rec["boxes"]:
            cx, cy = (x1 + x2) / 2 / w * g, (y1 + y2) / 2 / h * g
            gx, gy = min(int(cx), g - 1), min(int(cy), g - 1)
            cls[label, gy, gx] = 1
            pos[gy, gx] = 1
            box[:, gy, gx] = torch.tensor([cx - gx, cy - gy, np.log((x2 - x1) / w * g), np.log((y2 - y1) / h * g)])
        return x, cls, box, pos


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(conv_bn(3, 32, 2), conv_bn(32, 32))
        self.stage2 = nn.Sequential(conv_bn(32, 64, 2), conv_bn(64, 64))
        self.stage3 = nn.Sequential(conv_bn(64, 128, 2), conv_bn(128, 128))

    def forward(self, x):
        return self.stage3(self.stage2(self.stage1(x)))


class Detector(nn.Module):
    def __init__(self, n_cls, freeze_stages):
        super().__init__()
        self.encoder = Encoder()
        self.neck = nn.Sequential(nn.Conv2d(128, 128, 3, padding=1), nn.GroupNorm(16, 128), nn.ReLU())
        self.cls = nn.Conv2d(128, n_cls, 1)
        self.box = nn.Conv2d(128, 4, 1)
        nn.init.constant_(self.cls.bias, -4.0)
        self.frozen = [getattr(self.encoder, f"stage{i}") for i in range(1, freeze_stages + 1)]
        for m in self.frozen:
            m.requires_grad_(False)

    def freeze_norm(self):
        for m in self.encoder.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()

    def forward(self, x):
        f = self.neck(self.encoder(x))
        return self.cls(f), self.box(f)


def detection_loss(cls_logit, box_pred, cls, box, pos):
    n_pos = pos.sum().clamp(min=1)
    ce = F.binary_cross_entropy_with_logits(cls_logit, cls, reduction="none")
    p = cls_logit.sigmoid()
    pt = p * cls + (1 - p) * (1 - cls)
    alpha = 0.25 * cls + 0.75 * (1 - cls)
    focal = (alpha * (1 - pt) ** 2 * ce).sum() / n_pos
    reg = (F.smooth_l1_loss(box_pred, box, reduction="none") * pos[:, None]).sum() / n_pos
    return focal, reg


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    tot = n = 0
    for batch in loader:
        x, cls, box, pos = (t.to(device) for t in batch)
        focal, reg = detection_loss(*model(x), cls, box, pos)
        tot += (focal + reg).item()
        n += 1
    return tot / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="bccd")
    ap.add_argument("--pretrained", required=True, help="encoder state dict")
    ap.add_argument("--freeze-stages", type=int, default=1)
    ap.add_argument("--size", type=int, default=320)
    ap.add_argument("--classes", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=36)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--out", default="detector.pt")
    args = ap.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"

    train_dl = DataLoader(CellDataset(args.root, "train.json", args.size, args.classes), args.batch_size, shuffle=True,
                          num_workers=2)
    val_dl = DataLoader(CellDataset(args.root, "val.json", args.size, args.classes), args.batch_size)

    model = Detector(args.classes, args.freeze_stages)
    model.encoder.load_state_dict(torch.load(args.pretrained, map_location="cpu"))
    model.to(device)

    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [int(args.epochs * 0.7), int(args.epochs * 0.9)])

    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        model.freeze_norm()
        sums = [0.0, 0.0]
        for batch in train_dl:
            x, cls, box, pos = (t.to(device) for t in batch)
            focal, reg = detection_loss(*model(x), cls, box, pos)
            opt.zero_grad()
            (focal + reg).backward()
            nn.utils.clip_grad_norm_(params, 5.0)
            opt.step()
            sums[0] += focal.item()
            sums[1] += reg.item()
        sched.step()
        val = validate(model, val_dl, device)
        print(f"epoch {epoch} focal {sums[0] / len(train_dl):.4f} box {sums[1] / len(train_dl):.4f} val {val:.4f}")
        if val < best:
            best = val
            torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
