"""House prices from a csv with a small MLP."""
import argparse
import csv
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def read_csv(path):
    with open(path) as f:
        rows = list(csv.reader(f))[1:]
    t = torch.tensor([[float(v) for v in r] for r in rows])
    return t[:, :-1], t[:, -1:]


def batches(x, y, size, rng):
    idx = list(range(len(x)))
    rng.shuffle(idx)
    for s in range(0, len(idx), size):
        sel = idx[s:s + size]
        yield x[sel], y[sel]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--csv", default="data/housing.csv")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=10)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    x, y = read_csv(args.csv)
    x_tr, y_tr, x_va, y_va = x[:180], y[:180], x[180:], y[180:]
    mean, std = x_tr.mean(0), x_tr.std(0)
    x_tr, x_va = (x_tr - mean) / std, (x_va - mean) / std

    model = nn.Sequential(nn.Linear(x.size(1), 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        model.train()
        chunk = list(batches(x_tr, y_tr, args.batch_size, rng))
        total = 0.0
        for start in range(0, len(chunk), args.accum):
            window = chunk[start:start + args.accum]
            n = sum(len(xb) for xb, _ in window)
            optimizer.zero_grad()
            for xb, yb in window:
                loss = F.mse_loss(model(xb), yb, reduction="sum") / n
                loss.backward()
                total += loss.item() * n
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()

        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(x_va), y_va).item()
        print(f"epoch {epoch}: train mse {total / len(x_tr):.4f}  val mse {val:.4f}")


if __name__ == "__main__":
    main()
