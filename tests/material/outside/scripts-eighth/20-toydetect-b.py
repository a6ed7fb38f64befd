"""Anchor-free detector (centre heatmap + size + offset) on made-up shapes. Runs in a few minutes on CPU."""
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class C:
    size: int = 96
    stride: int = 4
    classes: int = 3
    n_train: int = 4000
    n_val: int = 400
    batch: int = 16
    epochs: int = 12
    lr: float = 1e-3
    w_size: float = 0.1
    w_off: float = 1.0


class Shapes(Dataset):
    def __init__(self, n, cfg, seed):
        self.n, self.cfg, self.seed = n, cfg, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        c = self.cfg
        r = np.random.default_rng(self.seed * 1_000_003 + i)
        img = r.normal(0.0, 0.15, (3, c.size, c.size)).astype(np.float32)
        g = c.size // c.stride
        heat = np.zeros((c.classes, g, g), np.float32)
        wh = np.zeros((2, g, g), np.float32)
        off = np.zeros((2, g, g), np.float32)
        mask = np.zeros((1, g, g), np.float32)
        yy, xx = np.mgrid[:c.size, :c.size]
        gy, gx = np.mgrid[:g, :g]
        for _ in range(r.integers(1, 5)):
            k = int(r.integers(c.classes))
            w, h = r.uniform(10, 28, 2)
            cx, cy = r.uniform(w / 2, c.size - w / 2), r.uniform(h / 2, c.size - h / 2)
            dx, dy = np.abs(xx - cx) / (w / 2), np.abs(yy - cy) / (h / 2)
            inside = [np.maximum(dx, dy) <= 1, dx ** 2 + dy ** 2 <= 1, dx + dy <= 1][k]
            img[:, inside] += r.uniform(0.5, 1.0, 3).astype(np.float32)[:, None]
            px, py = cx / c.stride, cy / c.stride
            ix, iy = min(int(px), g - 1), min(int(py), g - 1)
            s = max(0.8, min(w, h) / c.stride / 4)
            heat[k] = np.maximum(heat[k], np.exp(-((gx - ix) ** 2 + (gy - iy) ** 2) / (2 * s * s)))
            heat[k, iy, ix] = 1.0
            wh[:, iy, ix] = w / c.stride, h / c.stride
            off[:, iy, ix] = px - ix, py - iy
            mask[0, iy, ix] = 1.0
        return tuple(torch.from_numpy(a) for a in (img, heat, wh, off, mask))


def cbr(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class CenterNet(nn.Module):
    def __init__(self, cfg, ch=32):
        super().__init__()
        self.d4 = nn.Sequential(cbr(3, ch, 2), cbr(ch, 2 * ch, 2), cbr(2 * ch, 2 * ch))
        self.d8 = nn.Sequential(cbr(2 * ch, 4 * ch, 2), cbr(4 * ch, 4 * ch))
        self.lat = nn.Conv2d(4 * ch, 2 * ch, 1)
        self.fuse = cbr(2 * ch, 2 * ch)
        head = lambda n: nn.Sequential(nn.Conv2d(2 * ch, ch, 3, 1, 1), nn.ReLU(inplace=True), nn.Conv2d(ch, n, 1))
        self.heat, self.wh, self.off = head(cfg.classes), head(2), head(2)
        nn.init.constant_(self.heat[-1].bias, -2.2)

    def forward(self, x):
        a = self.d4(x)
        b = F.interpolate(self.lat(self.d8(a)), scale_factor=2, mode="nearest")
        f = self.fuse(a + b)
        return self.heat(f), self.wh(f), self.off(f)


def focal(logits, target):
    p = logits.sigmoid().clamp(1e-4, 1 - 1e-4)
    pos = target.eq(1).float()
    pos_loss = -(1 - p) ** 2 * p.log() * pos
    neg_loss = -(1 - target) ** 4 * p ** 2 * (1 - p).log() * (1 - pos)
    return (pos_loss + neg_loss).sum() / pos.sum().clamp(min=1)


def l1(pred, target, mask):
    return ((pred - target).abs() * mask).sum() / mask.sum().clamp(min=1)


@torch.no_grad()
def centre_recall(model, loader, thr=0.3):
    model.eval()
    hit = n = 0
    for img, heat, wh, off, mask in loader:
        p = model(img)[0].sigmoid()
        peak = (p == F.max_pool2d(p, 3, 1, 1)) & (p > thr)
        near = F.max_pool2d(peak.float(), 3, 1, 1) > 0
        gt = heat.eq(1)
        hit += (near & gt).sum().item()
        n += gt.sum().item()
    return hit / n


def main():
    cfg = C()
    torch.manual_seed(0)
    train = DataLoader(Shapes(cfg.n_train, cfg, 1), cfg.batch, shuffle=True, drop_last=True)
    val = DataLoader(Shapes(cfg.n_val, cfg, 2), 50)
    model = CenterNet(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[8, 11], gamma=0.1)

    for epoch in range(cfg.epochs):
        model.train()
        sums, t = np.zeros(3), time.time()
        for img, heat, wh, off, mask in train:
            ph, pw, po = model(img)
            lh, lw, lo = focal(ph, heat), l1(pw, wh, mask), l1(po, off, mask)
            loss = lh + cfg.w_size * lw + cfg.w_off * lo
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            sums += [lh.item(), lw.item(), lo.item()]
        a, b, c = sums / len(train)
        print(f"epoch {epoch:2d} heat {a:.3f} size {b:.3f} off {c:.3f} "
              f"recall {centre_recall(model, val):.3f} ({time.time() - t:.0f}s)")
    torch.save(model.state_dict(), "centernet_shapes.pt")


if __name__ == "__main__":
    main()
