"""Train a small CNN on a folder of leaf photographs (one sub folder per species)."""
import argparse
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split


class LeafFolder(Dataset):
    EXT = {".jpg", ".jpeg", ".png"}

    def __init__(self, root, size=48, augment=True):
        root = Path(root)
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = [
            (f, k)
            for k, c in enumerate(self.classes)
            for f in sorted((root / c).iterdir())
            if f.suffix.lower() in self.EXT
        ]
        self.size = size
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        img = Image.open(path).convert("RGB").resize((self.size, self.size))
        x = torch.from_numpy(np.asarray(img).copy()).permute(2, 0, 1).float() / 127.5 - 1.0
        if self.augment and random.random() < 0.5:
            x = x.flip(-1)
        return x, label


class LeafNet(nn.Module):
    def __init__(self, n_classes, width=16):
        super().__init__()

        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(), nn.MaxPool2d(2))

        self.body = nn.Sequential(block(3, width), block(width, width * 2), block(width * 2, width * 4))
        self.head = nn.Linear(width * 4, n_classes)

    def forward(self, x):
        return self.head(self.body(x).mean(dim=(2, 3)))


def train_epoch(model, loader, optimizer, args, device):
    model.train()
    n_batches = len(loader)
    total, updates = 0.0, 0
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        first = (i // args.accum) * args.accum
        size = min(args.accum, n_batches - first)
        loss = F.cross_entropy(model(x), y, label_smoothing=args.smoothing)
        (loss / size).backward()
        total += loss.item()
        if (i + 1) % args.accum == 0:
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            updates += 1
    return total / n_batches, updates


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    hit = n = 0
    for x, y in loader:
        pred = model(x.to(device)).argmax(1).cpu()
        hit += (pred == y).sum().item()
        n += len(y)
    return hit / max(n, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--images", default="data/leaves")
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--smoothing", type=float, default=0.1)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="leafnet.pt")
    args = ap.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    ds = LeafFolder(args.images)
    n_val = max(1, len(ds) // 5)
    tr, va = random_split(ds, [len(ds) - n_val, n_val])
    train_loader = DataLoader(tr, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(va, 32)

    model = LeafNet(len(ds.classes)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, args.epochs // 2), gamma=0.2)

    best = 0.0
    for epoch in range(args.epochs):
        loss, updates = train_epoch(model, train_loader, optimizer, args, device)
        scheduler.step()
        acc = accuracy(model, val_loader, device)
        print(f"epoch {epoch:02d} loss {loss:.4f} updates {updates} val acc {acc:.3f}")
        if acc >= best:
            best = acc
            torch.save({"model": model.state_dict(), "classes": ds.classes}, args.out)


if __name__ == "__main__":
    main()
