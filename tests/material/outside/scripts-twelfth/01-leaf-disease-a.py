import argparse
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class LeafFolder(Dataset):
    def __init__(self, root, size=64, augment=False):
        self.root = Path(root)
        self.classes = sorted(p.name for p in self.root.iterdir() if p.is_dir())
        self.items = []
        for idx, name in enumerate(self.classes):
            for f in sorted((self.root / name).glob("*.png")):
                self.items.append((f, idx))
        self.size = size
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        img = Image.open(path).convert("RGB").resize((self.size, self.size))
        x = torch.from_numpy(np.asarray(img, dtype=np.float32) / 255.0).permute(2, 0, 1)
        if self.augment and random.random() < 0.5:
            x = x.flip(-1)
        return (x - 0.5) / 0.25, label


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.skip(x))


class LeafNet(nn.Module):
    def __init__(self, num_classes, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.blocks = nn.Sequential(
            Block(width, width, 1), Block(width, width * 2, 2), Block(width * 2, width * 4, 2)
        )
        self.fc = nn.Linear(width * 4, num_classes)

    def forward(self, x):
        x = self.blocks(F.relu(self.stem(x)))
        return self.fc(x.mean(dim=(2, 3)))


def train_one_epoch(model, loader, optimizer, scaler, scheduler, device, max_norm):
    model.train()
    running, seen = 0.0, 0
    bar = tqdm(loader, leave=False)
    for x, y in bar:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.float16, enabled=scaler.is_enabled()):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        running += loss.item() * y.size(0)
        seen += y.size(0)
        bar.set_postfix(loss=running / seen)
    return running / seen


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hits = total = 0
    for x, y in loader:
        pred = model(x.to(device)).argmax(1).cpu()
        hits += (pred == y).sum().item()
        total += y.numel()
    return hits / max(total, 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/leaves")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--max-norm", type=float, default=1.0)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--out", default="leafnet.pt")
    args = p.parse_args()

    torch.manual_seed(0)
    random.seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_ds = LeafFolder(Path(args.data) / "train", augment=True)
    val_ds = LeafFolder(Path(args.data) / "val")
    train_dl = DataLoader(train_ds, args.batch_size, shuffle=True, num_workers=args.workers)
    val_dl = DataLoader(val_ds, args.batch_size, num_workers=args.workers)

    model = LeafNet(len(train_ds.classes)).to(device)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_dl)
    )
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")

    best = 0.0
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_dl, optimizer, scaler, scheduler, device, args.max_norm)
        acc = evaluate(model, val_dl, device)
        print(f"epoch {epoch:03d} loss {loss:.4f} val_acc {acc:.3f}")
        if acc >= best:
            best = acc
            torch.save({"model": model.state_dict(), "classes": train_ds.classes}, args.out)
    print("best", best)


if __name__ == "__main__":
    main()
