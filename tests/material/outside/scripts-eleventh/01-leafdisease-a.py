"""Leaf disease classifier. Expects root/{train,val}/<class_name>/*.jpg"""
import argparse
import json
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class LeafFolder(Dataset):
    def __init__(self, root, split, size, augment):
        base = Path(root) / split
        self.classes = sorted(p.name for p in (Path(root) / "train").iterdir() if p.is_dir())
        self.items = []
        for idx, name in enumerate(self.classes):
            for f in sorted((base / name).glob("*")):
                if f.suffix.lower() in {".jpg", ".jpeg", ".png"}:
                    self.items.append((f, idx))
        self.size = size
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        img = Image.open(path).convert("RGB")
        if self.augment:
            img = img.resize((self.size + 16, self.size + 16), Image.BILINEAR)
            dx, dy = random.randint(0, 16), random.randint(0, 16)
            img = img.crop((dx, dy, dx + self.size, dy + self.size))
            if random.random() < 0.5:
                img = img.transpose(Image.FLIP_LEFT_RIGHT)
        else:
            img = img.resize((self.size, self.size), Image.BILINEAR)
        x = torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255.0
        return (x - MEAN) / STD, label


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Identity()
        if stride != 1 or cin != cout:
            self.skip = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.skip(x))


class LeafNet(nn.Module):
    def __init__(self, n_classes, width=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.body = nn.Sequential(
            ConvBlock(width, width, 1),
            ConvBlock(width, width * 2, 2),
            ConvBlock(width * 2, width * 4, 2),
            ConvBlock(width * 4, width * 8, 2),
        )
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(width * 8, n_classes)

    def forward(self, x):
        x = self.body(self.stem(x)).mean((2, 3))
        return self.fc(self.drop(x))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    for x, y in loader:
        pred = model(x.to(device)).argmax(1).cpu()
        correct += (pred == y).sum().item()
        total += y.numel()
    return correct / max(total, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--out", default="runs/leaf")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--size", type=int, default=192)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--wd", type=float, default=1e-4)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = ap.parse_args()

    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    device = torch.device(args.device)
    use_amp = device.type == "cuda"

    train_set = LeafFolder(args.data, "train", args.size, True)
    val_set = LeafFolder(args.data, "val", args.size, False)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size * 2, num_workers=args.workers)

    model = LeafNet(len(train_set.classes)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.wd, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    scaler = torch.amp.GradScaler(device.type, enabled=use_amp)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):
                loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            running += loss.item()
        scheduler.step()

        acc = evaluate(model, val_loader, device)
        print(f"epoch {epoch:03d} loss {running / len(train_loader):.4f} gnorm {grad_norm:.3f} val_acc {acc:.4f}")
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "classes": train_set.classes}, out / "best.pt")
    (out / "summary.json").write_text(json.dumps({"best_val_acc": best}))


if __name__ == "__main__":
    main()
