"""Train an MLP on a CSV of house sales. Small batches, gradient accumulation.

usage: python housing.py data/houses.csv
"""
import argparse
import csv

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FEATURES = ["area", "rooms", "age", "distance", "floor"]
TARGET = "price"


def load_csv(path):
    with open(path, newline="") as fh:
        rows = list(csv.DictReader(fh))
    x = torch.tensor([[float(r[f]) for f in FEATURES] for r in rows])
    y = torch.tensor([float(r[TARGET]) for r in rows])
    return x, y


def standardize(t):
    return (t - t.mean(0)) / t.std(0)


class PriceNet(nn.Module):
    def __init__(self, n_in, width=32, dropout=0.1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_in, width), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout),
        )
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def train_epoch(model, loader, optimizer, accum):
    model.train()
    mse = nn.MSELoss()
    n_batches = len(loader)
    total, seen = 0.0, 0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        window = min(accum, n_batches - i // accum * accum)
        loss = mse(model(x), y)
        (loss / window).backward()
        total += loss.item() * len(y)
        seen += len(y)
        if (i + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()
    return total / seen


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    se, n = 0.0, 0
    for x, y in loader:
        se += (model(x) - y).pow(2).sum().item()
        n += len(y)
    return (se / n) ** 0.5


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("csv")
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--accum", type=int, default=5)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    x, y = load_csv(args.csv)
    data = TensorDataset(standardize(x), standardize(y))
    n_val = len(data) // 5
    train, val = random_split(data, [len(data) - n_val, n_val])
    train_loader = DataLoader(train, args.batch_size, shuffle=True)
    val_loader = DataLoader(val, 64)

    model = PriceNet(len(FEATURES))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, train_loader, optimizer, args.accum)
        if epoch % 5 == 0:
            print(f"epoch {epoch:3d} train mse {loss:.4f} val rmse {evaluate(model, val_loader):.4f}")


if __name__ == "__main__":
    main()
