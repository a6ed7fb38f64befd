# Multi-horizon forecasting of a csv with a date column and one column per series (ETT layout).
#
#   python forecast_gru.py --csv ETTh1.csv --horizon 24
#
# Windows are standardised with train statistics. Learning rate: one half cosine over the whole
# training, from --lr to zero.
import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, values, lookback, horizon):
        self.values = torch.from_numpy(values)
        self.lookback = lookback
        self.horizon = horizon

    def __len__(self):
        return len(self.values) - self.lookback - self.horizon + 1

    def __getitem__(self, i):
        m = i + self.lookback
        return self.values[i:m], self.values[m:m + self.horizon]


class Forecaster(nn.Module):
    """GRU encoder, MLP decoder that gives all steps at once; predicts the change from the last value."""

    def __init__(self, n_series, hidden, layers, horizon, dropout):
        super().__init__()
        self.horizon = horizon
        self.encoder = nn.GRU(n_series, hidden, layers, batch_first=True, dropout=dropout)
        self.decoder = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout),
                                     nn.Linear(hidden, horizon * n_series))

    def forward(self, x):
        last = x[:, -1:]
        _, h = self.encoder(x - last)
        return last + self.decoder(h[-1]).view(x.size(0), self.horizon, -1)


def read(path, train_frac, val_frac):
    df = pd.read_csv(path)
    df = df.drop(columns=[c for c in df.columns if c.lower() in ("date", "timestamp")])
    x = df.interpolate().bfill().to_numpy("float32")
    a, b = int(len(x) * train_frac), int(len(x) * (train_frac + val_frac))
    mean, std = x[:a].mean(0), x[:a].std(0) + 1e-6
    x = (x - mean) / std
    return x[:a], x[a:b], x[b:]


def evaluate(model, loader, device):
    model.eval()
    se = ae = n = 0.0
    with torch.no_grad():
        for x, y in loader:
            d = model(x.to(device)) - y.to(device)
            se += d.pow(2).sum().item()
            ae += d.abs().sum().item()
            n += d.numel()
    return se / n, ae / n


def main(args):
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parts = read(args.csv, 0.6, 0.2)
    train, val, test = (Windows(p, args.lookback, args.horizon) for p in parts)
    train_dl = DataLoader(train, args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val, 256)
    test_dl = DataLoader(test, 256)

    model = Forecaster(parts[0].shape[1], args.hidden, args.layers, args.horizon, args.dropout).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    loss_fn = nn.SmoothL1Loss()

    best, bad = np.inf, 0
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        mse, mae = evaluate(model, val_dl, device)
        print(f"[{epoch + 1}/{args.epochs}] train {np.mean(losses):.4f} val mse {mse:.4f} mae {mae:.4f} "
              f"lr {optimizer.param_groups[0]['lr']:.2e}")
        if mse < best:
            best, bad = mse, 0
            torch.save(model.state_dict(), args.out)
        else:
            bad += 1
            if bad >= args.patience:
                print("early stop")
                break

    model.load_state_dict(torch.load(args.out, map_location=device))
    print("test mse %.4f mae %.4f" % evaluate(model, test_dl, device))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--csv", default="ETTh1.csv")
    p.add_argument("--lookback", type=int, default=96)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--batch_size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--patience", type=int, default=20)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="forecast.pt")
    main(p.parse_args())
