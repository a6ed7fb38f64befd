"""Fine-grained leaf disease classifier.

    python train.py --data data/leaves --epochs 40 --batch-size 32 --accum 4 --amp

Expects data/leaves/{train,val}/<class>/*.jpg
"""
import argparse
import os
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class LeafFolder(Dataset):
    def __init__(self, root, size, train):
        self.size, self.train = size, train
        self.classes = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))
        self.items = []
        for ci, c in enumerate(self.classes):
            for f in sorted(os.listdir(os.path.join(root, c))):
                if f.lower().endswith((".jpg", ".jpeg", ".png")):
                    self.items.append((os.path.join(root, c, f), ci))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, y = self.items[i]
        img = Image.open(path).convert("RGB").resize((self.size, self.size), Image.BILINEAR)
        x = torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255.0
        if self.train and random.random() < 0.5:
            x = x.flip(-1)
        return (x - 0.5) / 0.25, y


def conv_block(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.GroupNorm(8, cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.GroupNorm(8, cout), nn.ReLU(inplace=True),
    )


class LeafNet(nn.Module):
    def __init__(self, num_classes, width=32):
        super().__init__()
        self.features = nn.Sequential(
            conv_block(3, width), conv_block(width, width * 2, 2),
            conv_block(width * 2, width * 4, 2), conv_block(width * 4, width * 4, 2),
        )
        self.head = nn.Linear(width * 4, num_classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


@torch.no_grad()
def validate(model, loader, device, use_amp):
    model.eval()
    correct = total = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):
            out = model(x)
        correct += (out.argmax(1) == y).sum().item()
        total += y.numel()
    return correct / max(total, 1)


def train_one_epoch(model, loader, optimizer, scaler, device, args, use_amp):
    model.train()
    running, n = 0.0, 0
    optimizer.zero_grad(set_to_none=True)
    n_batches = len(loader)
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        window_start = step - step % args.accum
        window = min(args.accum, n_batches - window_start)
        with torch.autocast(device.type, dtype=torch.float16, enabled=use_amp):
            loss = F.cross_entropy(model(x), y, label_smoothing=args.smoothing)
        scaler.scale(loss / window).backward()
        running += loss.item() * y.size(0)
        n += y.size(0)

        if step - window_start + 1 == window:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    return running / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--out", default="leafnet.pt")
    p.add_argument("--size", type=int, default=128)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--smoothing", type=float, default=0.05)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--amp", action="store_true")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    use_amp = args.amp and device.type == "cuda"

    train_set = LeafFolder(os.path.join(args.data, "train"), args.size, True)
    val_set = LeafFolder(os.path.join(args.data, "val"), args.size, False)
    assert train_set.classes == val_set.classes
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size * 2, num_workers=args.workers)

    model = LeafNet(len(train_set.classes)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    scaler = torch.amp.GradScaler(device.type, enabled=use_amp)

    best = 0.0
    for epoch in range(args.epochs):
        t0 = time.time()
        loss = train_one_epoch(model, train_loader, optimizer, scaler, device, args, use_amp)
        scheduler.step()
        acc = validate(model, val_loader, device, use_amp)
        print(f"epoch {epoch:03d} loss {loss:.4f} val_acc {acc:.4f} "
              f"lr {scheduler.get_last_lr()[0]:.5f} {time.time() - t0:.1f}s")
        if acc >= best:
            best = acc
            torch.save({"model": model.state_dict(), "classes": train_set.classes, "acc": acc}, args.out)
    print("best", best)


if __name__ == "__main__":
    main()
