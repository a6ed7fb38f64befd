"""Anchor-free detector on synthetic scenes (YOLO-like grid, one class).

Each cell of an 8x8 grid predicts an objectness score and a box (offset in the cell, log size).
Objectness: focal BCE over all cells. Boxes: GIoU on the positive cells, weight 2.
Both are learned jointly.
"""
import argparse
from typing import List, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

GRID, IMG = 8, 64
CELL = IMG / GRID


def make_scene(n_obj_max: int = 3) -> Tuple[Tensor, Tensor]:
    img = 0.2 * torch.randn(3, IMG, IMG)
    boxes: List[List[float]] = []
    taken = set()
    for _ in range(int(torch.randint(1, n_obj_max + 1, ()))):
        w, h = (torch.rand(2) * 16 + 8).tolist()
        cx = w / 2 + float(torch.rand(())) * (IMG - w)
        cy = h / 2 + float(torch.rand(())) * (IMG - h)
        cell = (int(cy // CELL), int(cx // CELL))
        if cell in taken:
            continue
        taken.add(cell)
        x1, y1, x2, y2 = cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2
        img[:, int(y1):int(y2) + 1, int(x1):int(x2) + 1] += torch.rand(3, 1, 1) + 0.3
        boxes.append([x1, y1, x2, y2])
    return img, torch.tensor(boxes)


def make_batch(n: int, device):
    imgs, boxes = zip(*[make_scene() for _ in range(n)])
    return torch.stack(imgs).to(device), [b.to(device) for b in boxes]


def build_targets(boxes: List[Tensor], device):
    obj = torch.zeros(len(boxes), GRID, GRID, device=device)
    box = torch.zeros(len(boxes), GRID, GRID, 4, device=device)
    for b, bx in enumerate(boxes):
        cx, cy = (bx[:, 0] + bx[:, 2]) / 2, (bx[:, 1] + bx[:, 3]) / 2
        gx, gy = (cx // CELL).long(), (cy // CELL).long()
        obj[b, gy, gx] = 1
        box[b, gy, gx] = bx
    return obj, box


class Detector(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        def c(i, o, s):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.1))
        self.backbone = nn.Sequential(c(3, width, 1), c(width, width, 2), c(width, 2 * width, 2),
                                      c(2 * width, 2 * width, 2), c(2 * width, 2 * width, 1))
        self.obj = nn.Conv2d(2 * width, 1, 1)
        self.reg = nn.Sequential(nn.Conv2d(2 * width, 2 * width, 3, 1, 1), nn.ReLU(), nn.Conv2d(2 * width, 4, 1))
        nn.init.constant_(self.obj.bias, -3.0)

    def forward(self, x):
        f = self.backbone(x)
        return self.obj(f).squeeze(1), self.reg(f).permute(0, 2, 3, 1)

    @staticmethod
    def decode(reg: Tensor) -> Tensor:
        """(B, G, G, 4) raw predictions -> corner boxes in pixels"""
        g = torch.arange(GRID, device=reg.device, dtype=reg.dtype)
        gy, gx = torch.meshgrid(g, g, indexing="ij")
        cx = (reg[..., 0].sigmoid() + gx) * CELL
        cy = (reg[..., 1].sigmoid() + gy) * CELL
        w = reg[..., 2].clamp(-4, 4).exp() * 2 * CELL
        h = reg[..., 3].clamp(-4, 4).exp() * 2 * CELL
        return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], -1)


def giou(a: Tensor, b: Tensor) -> Tensor:
    lt, rb = torch.max(a[:, :2], b[:, :2]), torch.min(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    area = lambda z: (z[:, 2] - z[:, 0]) * (z[:, 3] - z[:, 1])
    union = area(a) + area(b) - inter
    hull = (torch.max(a[:, 2:], b[:, 2:]) - torch.min(a[:, :2], b[:, :2])).prod(1)
    return inter / union - (hull - union) / hull


def focal_bce(logits: Tensor, target: Tensor, alpha=0.75, gamma=2.0) -> Tensor:
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p = logits.sigmoid()
    pt = torch.where(target > 0.5, p, 1 - p)
    a = torch.where(target > 0.5, alpha, 1 - alpha)
    return (a * (1 - pt) ** gamma * ce).sum()


def compute_loss(model: Detector, imgs: Tensor, boxes: List[Tensor]):
    obj_logits, reg = model(imgs)
    obj_t, box_t = build_targets(boxes, imgs.device)
    pos = obj_t > 0.5
    n_pos = pos.sum().clamp(min=1)
    pred = model.decode(reg)
    loss_obj = focal_bce(obj_logits, obj_t) / n_pos
    loss_box = (1 - giou(pred[pos], box_t[pos])).sum() / n_pos
    return loss_obj + 2.0 * loss_box, loss_obj.detach(), loss_box.detach()


@torch.no_grad()
def evaluate(model: Detector, batches, device) -> float:
    """mean IoU-like score (GIoU) of the box in the cell of each object"""
    model.eval()
    scores = []
    for imgs, boxes in batches:
        _, reg = model(imgs)
        obj_t, box_t = build_targets(boxes, device)
        pos = obj_t > 0.5
        scores.append(giou(model.decode(reg)[pos], box_t[pos]))
    model.train()
    return torch.cat(scores).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=4000)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--eval-every", type=int, default=200)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="detector.pt")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    held_out = [make_batch(64, device) for _ in range(4)]
    model = Detector().to(device)
    optim = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=args.iters)
    for it in range(1, args.iters + 1):
        loss, lo, lb = compute_loss(model, *make_batch(args.batch, device))
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optim.step()
        sched.step()
        if it % args.eval_every == 0:
            print(f"{it} obj {lo.item():.4f} box {lb.item():.4f} | held-out GIoU {evaluate(model, held_out, device):.3f}")
    torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
