"""Single-object detector: shared conv trunk, a class head and a box head.

The npz holds images (N,1,H,W) uint8, boxes (N,4) cxcywh in [0,1] and labels (N,).
"""
import argparse
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset, random_split

CFG = SimpleNamespace(epochs=8, batch_size=24, lr=2e-2, trunk_lr_mult=0.5, box_weight=5.0, momentum=0.9, wd=1e-4)


class Detector(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1),
            nn.GroupNorm(3, 12),
            nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.GroupNorm(4, 24),
            nn.ReLU(),
            nn.Conv2d(24, 24, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        feat = 24 * 8 * 8
        self.cls_head = nn.Sequential(nn.Linear(feat, 48), nn.ReLU(), nn.Linear(48, num_classes))
        self.box_head = nn.Sequential(nn.Linear(feat, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, x):
        f = self.trunk(x)
        return self.cls_head(f), self.box_head(f).sigmoid()


def iou_cxcywh(a, b):
    a_lo, a_hi = a[:, :2] - a[:, 2:] / 2, a[:, :2] + a[:, 2:] / 2
    b_lo, b_hi = b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2
    inter = (torch.min(a_hi, b_hi) - torch.max(a_lo, b_lo)).clamp(min=0).prod(1)
    union = a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter
    return inter / union


def load(path):
    with np.load(path) as z:
        images = torch.from_numpy(z["images"]).float() / 255.0
        return TensorDataset((images - 0.2) / 0.25, torch.from_numpy(z["boxes"]), torch.from_numpy(z["labels"]))


def validate(model, loader, device):
    model.eval()
    ious, hits, n = 0.0, 0, 0
    with torch.inference_mode():
        for img, box, lab in loader:
            logits, pred = model(img.to(device))
            ious += iou_cxcywh(pred.cpu(), box).sum().item()
            hits += (logits.argmax(1).cpu() == lab).sum().item()
            n += len(lab)
    return ious / n, hits / n


def main(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    ds = load(args.data)
    n_val = len(ds) // 6
    train_ds, val_ds = random_split(ds, [len(ds) - n_val, n_val])
    train_loader = DataLoader(train_ds, CFG.batch_size, shuffle=True)
    val_loader = DataLoader(val_ds, 64)

    model = Detector(num_classes=3).to(device)
    head_params = list(model.cls_head.parameters()) + list(model.box_head.parameters())
    optimizer = torch.optim.SGD(
        [
            {"params": model.trunk.parameters(), "lr": CFG.lr * CFG.trunk_lr_mult},
            {"params": head_params},
        ],
        lr=CFG.lr,
        momentum=CFG.momentum,
        weight_decay=CFG.wd,
    )
    scheduler = CosineAnnealingLR(optimizer, T_max=CFG.epochs)

    for epoch in range(CFG.epochs):
        model.train()
        log = {"cls": 0.0, "box": 0.0}
        for img, box, lab in train_loader:
            img, box, lab = img.to(device), box.to(device), lab.to(device)
            logits, pred = model(img)
            cls_loss = F.cross_entropy(logits, lab)
            box_loss = F.smooth_l1_loss(pred, box, beta=0.1)
            loss = cls_loss + CFG.box_weight * box_loss

            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log["cls"] += cls_loss.item() / len(train_loader)
            log["box"] += box_loss.item() / len(train_loader)
        scheduler.step()

        iou, acc = validate(model, val_loader, device)
        lrs = ", ".join(f"{g['lr']:.1e}" for g in optimizer.param_groups)
        print(f"{epoch:2d} cls {log['cls']:.3f} box {log['box']:.4f} | IoU {iou:.3f} acc {acc:.3f} | lr {lrs}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--seed", type=int, default=21)
    main(parser.parse_args())
