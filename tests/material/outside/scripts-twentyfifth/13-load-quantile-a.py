"""Probabilistic next-hour load forecast: GRU with pinball loss."""
import argparse
import csv
from datetime import datetime

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

QUANTILES = (0.1, 0.5, 0.9)


def load_table(path):
    stamps, values = [], []
    with open(path) as fh:
        for row in csv.DictReader(fh):
            stamps.append(datetime.strptime(row["timestamp"], "%Y-%m-%d %H:%M"))
            values.append((float(row["load_mw"]), float(row["temp_c"])))
    hours = np.array([s.hour for s in stamps])
    weekend = np.array([s.weekday() >= 5 for s in stamps], dtype=np.float32)
    calendar = np.stack([np.sin(2 * np.pi * hours / 24), np.cos(2 * np.pi * hours / 24), weekend], 1)
    return np.array(values, dtype=np.float32), calendar.astype(np.float32)


class Scaler:
    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0)
        return self

    def transform(self, x):
        return (x - self.mean) / self.std


class WindowDataset(Dataset):
    def __init__(self, values, calendar, start, stop, context):
        feats = np.concatenate([values, calendar], 1)
        self.x = torch.from_numpy(feats)
        self.y = torch.from_numpy(values[:, :1].copy())
        self.idx = range(max(start, context), stop)
        self.context = context

    def __len__(self):
        return len(self.idx)

    def __getitem__(self, k):
        t = self.idx[k]
        return self.x[t - self.context:t], self.y[t]


class QuantileGRU(nn.Module):
    def __init__(self, n_features, hidden, n_quantiles):
        super().__init__()
        self.rnn = nn.GRU(n_features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, n_quantiles)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


def pinball_loss(pred, target):
    """pred (B, Q), target (B, 1)"""
    losses = []
    for k, q in enumerate(QUANTILES):
        err = target - pred[:, k:k + 1]
        losses.append(torch.maximum(q * err, (q - 1) * err).mean())
    return sum(losses)


@torch.no_grad()
def evaluate(model, loader, std):
    model.eval()
    preds, ys = zip(*[(model(x), y) for x, y in loader])
    pred, y = torch.cat(preds).numpy(), torch.cat(ys).numpy().ravel()
    mae = np.abs(pred[:, 1] - y).mean() * std
    coverage = ((y >= pred[:, 0]) & (y <= pred[:, 2])).mean()
    return float(mae), float(coverage)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", default="data/load.csv")
    ap.add_argument("--context", type=int, default=36)
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--patience", type=int, default=3)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    values, calendar = load_table(args.csv)
    n = len(values)
    n_train, n_val = int(0.7 * n), int(0.85 * n)
    scaler = Scaler().fit(values[:n_train])
    values = scaler.transform(values)
    load_std = float(scaler.std[0])

    def loader(a, b, shuffle=False):
        return DataLoader(WindowDataset(values, calendar, a, b, args.context),
                          batch_size=args.batch_size, shuffle=shuffle)
    train_loader, val_loader, test_loader = loader(0, n_train, True), loader(n_train, n_val), loader(n_val, n)

    model = QuantileGRU(values.shape[1] + calendar.shape[1], args.hidden, len(QUANTILES))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)

    best, bad = float("inf"), 0
    for epoch in range(args.epochs):
        model.train()
        total, count = 0.0, 0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = pinball_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * len(y)
            count += len(y)
        mae, cov = evaluate(model, val_loader, load_std)
        plateau.step(mae)
        print(f"epoch {epoch} pinball {total / count:.4f} val MAE {mae:.1f} MW coverage80 {cov:.2f} "
              f"lr {optimizer.param_groups[0]['lr']:.4f}")
        if mae < best - 1e-3:
            best, bad = mae, 0
            torch.save(model.state_dict(), "load_quantile.pt")
        else:
            bad += 1
            if bad >= args.patience:
                break

    model.load_state_dict(torch.load("load_quantile.pt"))
    mae, cov = evaluate(model, test_loader, load_std)
    naive = np.abs(np.diff(values[n_val - 1:, 0])).mean() * load_std
    print(f"test MAE {mae:.1f} MW (persistence {naive:.1f}) coverage80 {cov:.2f}")


if __name__ == "__main__":
    main()
