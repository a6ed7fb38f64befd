"""Single-object licence plate detector.

annotations.json is COCO-like:
  {"categories": [{"id": 1, "name": "car"}, ...],
   "images": [{"id": 7, "file_name": "a.png", "width": 96, "height": 64}, ...],
   "annotations": [{"image_id": 7, "category_id": 1, "bbox": [x, y, w, h]}, ...]}
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


class PlateDataset(Dataset):
    def __init__(self, img_dir, ann_file, size=64):
        with open(ann_file) as f:
            coco = json.load(f)
        self.cat2idx = {c["id"]: i for i, c in enumerate(coco["categories"])}
        by_image = {}
        for a in coco["annotations"]:
            by_image.setdefault(a["image_id"], a)  # largest first in our export
        self.samples = []
        for im in coco["images"]:
            a = by_image.get(im["id"])
            if a is None:
                continue
            x, y, w, h = a["bbox"]
            W, H = im["width"], im["height"]
            box = [(x + w / 2) / W, (y + h / 2) / H, w / W, h / H]
            self.samples.append((os.path.join(img_dir, im["file_name"]), box, self.cat2idx[a["category_id"]]))
        self.size = size

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        path, box, cls = self.samples[i]
        img = Image.open(path).convert("RGB").resize((self.size, self.size))
        x = torch.from_numpy(np.asarray(img).astype("float32") / 255).permute(2, 0, 1)
        return x, torch.tensor(box, dtype=torch.float32), cls


class Detector(nn.Module):
    def __init__(self, n_cls, ch=16):
        super().__init__()
        layers, cin = [], 3
        for mult in (1, 2, 4):
            layers += [nn.Conv2d(cin, ch * mult, 3, stride=2, padding=1), nn.BatchNorm2d(ch * mult), nn.LeakyReLU(0.1)]
            cin = ch * mult
        self.backbone = nn.Sequential(*layers)
        self.neck = nn.Sequential(nn.Flatten(), nn.Linear(cin * 8 * 8, 128), nn.ReLU())
        self.cls_head = nn.Linear(128, n_cls)
        self.box_head = nn.Linear(128, 4)

    def forward(self, x):
        h = self.neck(self.backbone(x))
        return self.cls_head(h), self.box_head(h).sigmoid()


def iou(a, b):
    ax1, ay1, ax2, ay2 = a[:, 0] - a[:, 2] / 2, a[:, 1] - a[:, 3] / 2, a[:, 0] + a[:, 2] / 2, a[:, 1] + a[:, 3] / 2
    bx1, by1, bx2, by2 = b[:, 0] - b[:, 2] / 2, b[:, 1] - b[:, 3] / 2, b[:, 0] + b[:, 2] / 2, b[:, 1] + b[:, 3] / 2
    iw = (torch.minimum(ax2, bx2) - torch.maximum(ax1, bx1)).clamp(min=0)
    ih = (torch.minimum(ay2, by2) - torch.maximum(ay1, by1)).clamp(min=0)
    inter = iw * ih
    return inter / (a[:, 2] * a[:, 3] + b[:, 2] * b[:, 3] - inter + 1e-9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--annotations", required=True)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--bs", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--box-weight", type=float, default=5.0)
    parser.add_argument("--weights-out", default="plates.pt")
    opt = parser.parse_args()

    torch.manual_seed(3407)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ds = PlateDataset(opt.images, opt.annotations)
    loader = DataLoader(ds, batch_size=opt.bs, shuffle=True, drop_last=True)
    print(f"{len(ds)} annotated images, {len(ds.cat2idx)} categories")

    model = Detector(len(ds.cat2idx)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=opt.lr, weight_decay=1e-4)

    for epoch in range(opt.epochs):
        model.train()
        stats = {"cls": 0.0, "box": 0.0, "total": 0.0, "iou": 0.0}
        for img, box, cls in loader:
            img, box, cls = img.to(device), box.to(device), cls.to(device)
            logits, pred = model(img)
            loss_cls = F.cross_entropy(logits, cls)
            loss_box = F.smooth_l1_loss(pred, box, beta=0.1)
            loss = loss_cls + opt.box_weight * loss_box

            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

            stats["cls"] += loss_cls.item()
            stats["box"] += loss_box.item()
            stats["total"] += loss.item()
            stats["iou"] += iou(pred.detach(), box).mean().item()
        msg = "  ".join(f"{k} {v / len(loader):.4f}" for k, v in stats.items())
        print(f"epoch {epoch}: {msg}")

    torch.save(model.state_dict(), opt.weights_out)


if __name__ == "__main__":
    main()
