"""Day-ahead electricity load forecasting from hourly readings.

The csv has the columns: timestamp, load, temperature
"""
import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class Windows(Dataset):
    def __init__(self, frame, history, horizon):
        self.x = torch.tensor(frame, dtype=torch.float32)
        self.history = history
        self.horizon = horizon

    def __len__(self):
        return len(self.x) - self.history - self.horizon + 1

    def __getitem__(self, i):
        past = self.x[i:i + self.history]
        fut = self.x[i + self.history:i + self.history + self.horizon]
        return past, fut[:, 1:], fut[:, 0]


class Forecaster(nn.Module):
    def __init__(self, n_in, hidden, horizon, layers=2, dropout=0.2):
        super().__init__()
        self.enc = nn.LSTM(n_in, hidden, layers, batch_first=True, dropout=dropout)
        self.dec = nn.LSTM(n_in - 1, hidden, layers, batch_first=True, dropout=dropout)
        self.out = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, past, covariates):
        _, state = self.enc(past)
        h, _ = self.dec(covariates, state)
        return self.out(h).squeeze(-1)


def read(path):
    df = pd.read_csv(path, parse_dates=["timestamp"]).sort_values("timestamp")
    hour = df.timestamp.dt.hour.to_numpy()
    dow = df.timestamp.dt.dayofweek.to_numpy()
    cols = [
        df["load"].to_numpy(),
        df["temperature"].to_numpy(),
        np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24),
        np.sin(2 * np.pi * dow / 7), np.cos(2 * np.pi * dow / 7),
    ]
    return np.stack(cols, 1).astype(np.float32)


def r2_score(pred, true):
    ss_res = ((true - pred) ** 2).sum()
    ss_tot = ((true - true.mean()) ** 2).sum()
    return float(1 - ss_res / ss_tot)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    preds, trues = [], []
    for past, cov, y in loader:
        preds.append(model(past.to(device), cov.to(device)).cpu())
        trues.append(y)
    return r2_score(torch.cat(preds), torch.cat(trues))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", default="data/load.csv")
    ap.add_argument("--history", type=int, default=168)
    ap.add_argument("--horizon", type=int, default=24)
    ap.add_argument("--hidden", type=int, default=128)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--epochs", type=int, default=80)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--patience", type=int, default=4)
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = read(args.csv)
    cut = int(len(data) * 0.8)
    mean, std = data[:cut].mean(0), data[:cut].std(0) + 1e-6
    data = (data - mean) / std

    train_loader = DataLoader(Windows(data[:cut], args.history, args.horizon), args.batch, shuffle=True, drop_last=True)
    val_loader = DataLoader(Windows(data[cut:], args.history, args.horizon), args.batch)

    model = Forecaster(data.shape[1], args.hidden, args.horizon).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=args.patience)
    criterion = nn.SmoothL1Loss()

    best = -float("inf")
    for epoch in range(args.epochs):
        model.train()
        total, seen = 0.0, 0
        for past, cov, y in tqdm(train_loader, desc=f"epoch {epoch}", leave=False):
            past, cov, y = past.to(device), cov.to(device), y.to(device)
            opt.zero_grad()
            loss = criterion(model(past, cov), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item() * len(y)
            seen += len(y)
        r2 = evaluate(model, val_loader, device)
        sched.step(r2)
        print(f"{epoch:3d} train {total / seen:.4f} val R2 {r2:.4f} lr {opt.param_groups[0]['lr']:.2e}")
        if r2 > best:
            best = r2
            torch.save({"model": model.state_dict(), "mean": mean, "std": std, "args": vars(args)}, "forecaster.pt")
    print("best R2", best)


if __name__ == "__main__":
    main()
