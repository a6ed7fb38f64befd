import json
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    images: str = "data/det_images.npy"
    annotations: str = "data/det_ann.json"
    stride: int = 4
    epochs: int = 20
    batch_size: int = 8
    backbone_lr: float = 1e-2
    head_lr: float = 1e-3
    clip: float = 2.0
    size_weight: float = 0.1


class Boxes(Dataset):
    def __init__(self, cfg):
        self.images = np.load(cfg.images)
        self.ann = json.load(open(cfg.annotations))
        self.stride = cfg.stride

    def __len__(self):
        return len(self.ann)

    def __getitem__(self, i):
        img = self.images[self.ann[i]["image"]]
        h, w = img.shape[0] // self.stride, img.shape[1] // self.stride
        heat = np.zeros((h, w), np.float32)
        size = np.zeros((2, h, w), np.float32)
        mask = np.zeros((h, w), np.float32)
        ys, xs = np.mgrid[:h, :w]
        for x0, y0, x1, y1 in self.ann[i]["boxes"]:
            cx, cy = (x0 + x1) / 2 / self.stride, (y0 + y1) / 2 / self.stride
            ix, iy = min(int(cx), w - 1), min(int(cy), h - 1)
            heat = np.maximum(heat, np.exp(-((xs - ix) ** 2 + (ys - iy) ** 2) / 2.0))
            size[:, iy, ix] = ((x1 - x0) / self.stride, (y1 - y0) / self.stride)
            mask[iy, ix] = 1
        return torch.from_numpy(img)[None], torch.from_numpy(heat.astype(np.float32)), \
            torch.from_numpy(size), torch.from_numpy(mask)


class Backbone(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU(),
        )

    def forward(self, x):
        return self.net(x)


class Head(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.heat = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, 1, 1))
        self.size = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, 2, 1))
        nn.init.constant_(self.heat[-1].bias, -2.19)

    def forward(self, f):
        return self.heat(f).squeeze(1), self.size(f)


def focal(logits, target):
    p = logits.sigmoid().clamp(1e-4, 1 - 1e-4)
    pos = (target == 1).float()
    pos_loss = -((1 - p) ** 2 * p.log() * pos).sum()
    neg_loss = -((1 - target) ** 4 * p**2 * (1 - p).log() * (1 - pos)).sum()
    return (pos_loss + neg_loss) / pos.sum().clamp(min=1)


def main():
    cfg = Config()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Boxes(cfg), cfg.batch_size, shuffle=True)
    backbone, head = Backbone().to(device), Head().to(device)
    opt_backbone = torch.optim.SGD(backbone.parameters(), lr=cfg.backbone_lr, momentum=0.9)
    opt_head = torch.optim.AdamW(head.parameters(), lr=cfg.head_lr)
    schedulers = [torch.optim.lr_scheduler.MultiStepLR(o, [12, 17]) for o in (opt_backbone, opt_head)]

    for epoch in range(cfg.epochs):
        backbone.train()
        head.train()
        stats = torch.zeros(2)
        for img, heat, size, mask in loader:
            img, heat, size, mask = (t.to(device) for t in (img, heat, size, mask))
            pred_heat, pred_size = head(backbone(img))
            loss_heat = focal(pred_heat, heat)
            l1 = F.l1_loss(pred_size, size, reduction="none") * mask[:, None]
            loss_size = l1.sum() / mask.sum().clamp(min=1)
            loss = loss_heat + cfg.size_weight * loss_size

            opt_backbone.zero_grad()
            opt_head.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), cfg.clip)
            nn.utils.clip_grad_norm_(head.parameters(), cfg.clip)
            opt_backbone.step()
            opt_head.step()
            stats += torch.tensor([loss_heat.item(), loss_size.item()])
        for s in schedulers:
            s.step()
        print(f"epoch {epoch} heat {stats[0] / len(loader):.3f} size {stats[1] / len(loader):.3f}")
    torch.save({"backbone": backbone.state_dict(), "head": head.state_dict()}, "detector.pt")


if __name__ == "__main__":
    main()
