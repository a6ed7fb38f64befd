"""Single-object detector (class + box) in fp16 autocast with protection against gradient spikes.

An update whose gradient norm exceeds --spike (a plain, true gradient norm) is discarded.
"""
import argparse
import os
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Detector(nn.Module):
    def __init__(self, classes=3, w=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, w, 3, 2, 1), nn.GroupNorm(8, w), nn.SiLU(),
            nn.Conv2d(w, 2 * w, 3, 2, 1), nn.GroupNorm(8, 2 * w), nn.SiLU(),
            nn.Conv2d(2 * w, 4 * w, 3, 2, 1), nn.GroupNorm(8, 4 * w), nn.SiLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.cls = nn.Linear(64 * w, classes)
        self.box = nn.Sequential(nn.Linear(64 * w, 64), nn.SiLU(), nn.Linear(64, 4))

    def forward(self, x):
        h = self.backbone(x)
        return self.cls(h), self.box(h).sigmoid()


def render(n, gen, size=48):
    """Coloured rectangles on noise; boxes are (cx, cy, w, h) in [0, 1]."""
    x = 0.3 * torch.randn(n, 3, size, size, generator=gen)
    label = torch.randint(0, 3, (n,), generator=gen)
    wh = 0.2 + 0.3 * torch.rand(n, 2, generator=gen)
    centre = wh / 2 + torch.rand(n, 2, generator=gen) * (1 - wh)
    lo, hi = ((centre - wh / 2) * size).long(), ((centre + wh / 2) * size).long()
    for i in range(n):
        x[i, label[i], lo[i, 1] : hi[i, 1], lo[i, 0] : hi[i, 0]] += 1.5
    return x, label, torch.cat([centre, wh], 1)


def iou(a, b):
    a0, a1, b0, b1 = a[:, :2] - a[:, 2:] / 2, a[:, :2] + a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2
    inter = (torch.minimum(a1, b1) - torch.maximum(a0, b0)).clamp(min=0).prod(1)
    return inter / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter + 1e-7)


def total_grad_norm(params):
    return torch.stack([p.grad.detach().float().norm() for p in params if p.grad is not None]).norm()


@torch.no_grad()
def evaluate(model, device):
    model.eval()
    x, label, box = render(256, torch.Generator().manual_seed(99))
    logits, pred = model(x.to(device))
    acc = (logits.argmax(1).cpu() == label).float().mean().item()
    score = iou(pred.float().cpu(), box).mean().item()
    model.train()
    return acc, score


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2000)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--spike", type=float, default=50.0)
    ap.add_argument("--eval-every", type=int, default=200)
    ap.add_argument("--compile", action="store_true")
    ap.add_argument("--out", default="runs/detector")
    args = ap.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    fp16 = device == "cuda"
    os.makedirs(args.out, exist_ok=True)
    model = Detector().to(device)
    forward = torch.compile(model) if args.compile else model
    params = list(model.parameters())
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=1e-2)
    scaler = torch.amp.GradScaler(device, enabled=fp16)
    gen = torch.Generator().manual_seed(1)
    norms, spikes, best = deque(maxlen=100), 0, 0.0

    model.train()
    for step in range(1, args.steps + 1):
        x, label, box = (t.to(device) for t in render(args.batch, gen))
        opt.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16, enabled=fp16):
            logits, pred = forward(x)
            loss = F.cross_entropy(logits, label) + 5.0 * F.l1_loss(pred.float(), box)
        loss = loss + (1 - iou(pred.float(), box)).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = total_grad_norm(params)
        if torch.isfinite(norm) and norm > args.spike:
            spikes += 1
        else:
            scaler.step(opt)
        scaler.update()
        norms.append(norm.item())
        if step % args.eval_every == 0:
            acc, score = evaluate(model, device)
            typical = sorted(norms)[len(norms) // 2]
            print(f"{step} loss {loss.item():.3f} norm {typical:.2f} spikes {spikes} acc {acc:.3f} IoU {score:.3f}")
            if score > best:
                best = score
                torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    main()
