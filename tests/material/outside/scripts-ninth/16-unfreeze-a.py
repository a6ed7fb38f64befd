"""Transfer learning on chest X-ray crops, gradual unfreezing.

stage 0: classifier only; then one backbone stage more every `--unfreeze-every` epochs
"""
import argparse
import csv
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class XrayCrops(Dataset):
    def __init__(self, root, split, size=96):
        self.size, self.root = size, root
        with open(os.path.join(root, split + ".csv")) as f:
            self.rows = [(r["file"], int(r["label"])) for r in csv.DictReader(f)]
        self.augment = split == "train"

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        name, y = self.rows[i]
        im = Image.open(os.path.join(self.root, name)).convert("L").resize((self.size, self.size))
        x = torch.from_numpy(np.asarray(im, dtype=np.float32) / 255.0)[None]
        if self.augment:
            x = (x * (0.9 + 0.2 * torch.rand(1))).clamp(0, 1)
        return x - 0.5, y


class ResBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.c1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.n1 = nn.GroupNorm(4, cout)
        self.c2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.n2 = nn.GroupNorm(4, cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride, bias=False) if (stride != 1 or cin != cout) else nn.Identity()

    def forward(self, x):
        h = F.relu(self.n1(self.c1(x)))
        return F.relu(self.n2(self.c2(h)) + self.skip(x))


class Backbone(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.stages = nn.ModuleList([
            nn.Sequential(nn.Conv2d(1, w, 5, 2, 2), nn.ReLU()),
            ResBlock(w, 2 * w, 2), ResBlock(2 * w, 4 * w, 2), ResBlock(4 * w, 8 * w, 2)])
        self.out_dim = 8 * w

    def forward(self, x):
        for s in self.stages:
            x = s(x)
        return x.mean((2, 3))


class GradualUnfreezer:
    def __init__(self, backbone, optimizer, base_lr, decay):
        self.stages = list(backbone.stages)[::-1]
        self.optimizer, self.base_lr, self.decay = optimizer, base_lr, decay
        self.opened = 0
        for p in backbone.parameters():
            p.requires_grad_(False)

    def open_next(self):
        if self.opened == len(self.stages):
            return
        stage = self.stages[self.opened]
        params = [p for p in stage.parameters() if p.requires_grad]
        for p in stage.parameters():
            p.requires_grad_(True)
        self.opened += 1
        self.optimizer.add_param_group({"params": params, "lr": self.base_lr * self.decay ** self.opened})
        print(f"  opened backbone stage {len(self.stages) - self.opened}")


@torch.no_grad()
def evaluate(backbone, head, loader, device):
    backbone.eval(), head.eval()
    tp = tn = p = n = 0
    for x, y in loader:
        pred = head(backbone(x.to(device))).argmax(1).cpu()
        tp += ((pred == 1) & (y == 1)).sum().item()
        tn += ((pred == 0) & (y == 0)).sum().item()
        p += (y == 1).sum().item()
        n += (y == 0).sum().item()
    return tp / max(p, 1), tn / max(n, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--pretrained", default="", help="backbone state dict")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--unfreeze-every", type=int, default=3)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--lr-decay", type=float, default=0.5)
    ap.add_argument("--size", type=int, default=96)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--out", default="xray.pt")
    args = ap.parse_args()

    torch.manual_seed(5)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train = DataLoader(XrayCrops(args.root, "train", args.size), args.bs, shuffle=True, num_workers=args.workers)
    val = DataLoader(XrayCrops(args.root, "val", args.size), args.bs, num_workers=args.workers)

    backbone = Backbone().to(device)
    if args.pretrained:
        backbone.load_state_dict(torch.load(args.pretrained, map_location=device))
    head = nn.Sequential(nn.Linear(backbone.out_dim, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 2)).to(device)
    optimizer = torch.optim.AdamW(head.parameters(), lr=args.lr, weight_decay=1e-3)
    unfreezer = GradualUnfreezer(backbone, optimizer, args.lr, args.lr_decay)

    best = 0.0
    for epoch in range(args.epochs):
        if epoch > 0 and epoch % args.unfreeze_every == 0:
            unfreezer.open_next()
        backbone.train(), head.train()
        loss_sum = seen = 0
        for x, y in train:
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(head(backbone(x)), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)
            optimizer.step()
            loss_sum += loss.item() * y.numel()
            seen += y.numel()
        sens, spec = evaluate(backbone, head, val, device)
        print(f"epoch {epoch:02d} loss {loss_sum / seen:.4f} sens {sens:.3f} spec {spec:.3f}")
        if sens + spec > best:
            best = sens + spec
            torch.save({"backbone": backbone.state_dict(), "head": head.state_dict(), "epoch": epoch}, args.out)


if __name__ == "__main__":
    main()
