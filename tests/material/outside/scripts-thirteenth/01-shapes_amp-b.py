"""Classify rendered shapes (circle / square / cross / triangle) with a small CNN in mixed precision."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--n", type=int, default=1600)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def draw(kind, size=24):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cy, cx = random.randint(8, 15), random.randint(8, 15)
    r = random.randint(4, 7)
    dy, dx = yy - cy, xx - cx
    if kind == 0:
        img = dy ** 2 + dx ** 2 <= r ** 2
    elif kind == 1:
        img = (dy.abs() <= r) & (dx.abs() <= r)
    elif kind == 2:
        img = ((dy.abs() <= 1) & (dx.abs() <= r)) | ((dx.abs() <= 1) & (dy.abs() <= r))
    else:
        img = (dy >= -r) & (dy <= r) & (dx.abs() * 2 <= dy + r)
    return img.float().unsqueeze(0) + 0.3 * torch.randn(1, size, size)


def make_split(n):
    labels = [i % 4 for i in range(n)]
    return TensorDataset(torch.stack([draw(k) for k in labels]), torch.tensor(labels))


class ConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.head = nn.Linear(32 * 36, classes)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    hits = n = 0
    for x, y in loader:
        hits += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        n += y.numel()
    return hits / n


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    train_loader = DataLoader(make_split(args.n), args.batch_size, shuffle=True)
    test_loader = DataLoader(make_split(args.n // 4), 256)
    model = ConvNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler(device)
    dtype = torch.float16 if device == "cuda" else torch.bfloat16

    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=dtype):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            running += loss.item() * x.size(0)
        print(f"epoch {epoch}: loss {running / args.n:.4f} acc {accuracy(model, test_loader, device):.3f}")


if __name__ == "__main__":
    main()
