"""Small CNN on the shapes dataset (24x24 grayscale png + labels.csv)."""
import argparse
import csv
import os
import random
import time

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/shapes")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--accum", type=int, default=4, help="micro batches per update")
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--wd", type=float, default=5e-4)
    p.add_argument("--max-norm", type=float, default=5.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="runs/shapes")
    return p.parse_args()


class ShapeDataset(Dataset):
    def __init__(self, root, split, classes, train=False):
        self.train = train
        self.images, self.targets = [], []
        with open(os.path.join(root, "labels.csv")) as fh:
            for row in csv.DictReader(fh):
                if row["split"] != split:
                    continue
                img = Image.open(os.path.join(root, "img", row["file"])).convert("L")
                self.images.append(np.asarray(img, dtype=np.float32) / 255.0)
                self.targets.append(classes.index(row["label"]))

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        x = self.images[i]
        if self.train and random.random() < 0.5:
            x = x[:, ::-1].copy()
        x = (torch.from_numpy(x)[None] - 0.25) / 0.25
        return x, self.targets[i]


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        nn.GroupNorm(4, cout),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class ShapeNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(conv_block(1, 16), conv_block(16, 32), conv_block(32, 32))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 9, num_classes))

    def forward(self, x):
        return self.head(self.features(x))


def train_one_epoch(model, loader, optimizer, args):
    model.train()
    criterion = nn.CrossEntropyLoss(reduction="sum")
    total, count = 0.0, 0
    seen = 0
    optimizer.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        seen += y.size(0)
        total += loss.item()
        count += y.size(0)

        if (i + 1) % args.accum == 0 or (i + 1) == len(loader):
            for p in model.parameters():
                p.grad.div_(seen)
            nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return total / count


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = n = 0
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum().item()
        n += y.numel()
    return correct / n


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    classes = ["circle", "square", "triangle", "cross"]
    train_set = ShapeDataset(args.data, "train", classes, train=True)
    val_set = ShapeDataset(args.data, "val", classes)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=128)

    model = ShapeNet(len(classes))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum,
                                weight_decay=args.wd, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)

    best = 0.0
    for epoch in range(args.epochs):
        t0 = time.time()
        loss = train_one_epoch(model, train_loader, optimizer, args)
        acc = evaluate(model, val_loader)
        lr = optimizer.param_groups[0]["lr"]
        scheduler.step()
        print(f"epoch {epoch + 1:2d} lr {lr:.4f} loss {loss:.4f} val_acc {acc:.4f} ({time.time() - t0:.1f}s)")
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "epoch": epoch, "acc": acc},
                       os.path.join(args.out, "best.pt"))
    print(f"best val acc {best:.4f}")


if __name__ == "__main__":
    main()
