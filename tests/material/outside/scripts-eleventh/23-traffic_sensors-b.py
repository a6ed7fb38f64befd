"""Traffic speed forecasting on a sensor network with outages.
speeds.npz: 'speed' (T, N) float with NaN where a sensor was down, 'adj' (N, N) non-negative weights."""
import argparse
import os

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SensorWindows(Dataset):
    def __init__(self, speed, lo, hi, t_in, t_out, mean, std):
        self.x = torch.from_numpy((speed[lo:hi] - mean) / std).float()
        self.t_in, self.t_out = t_in, t_out

    def __len__(self):
        return len(self.x) - self.t_in - self.t_out + 1

    def __getitem__(self, i):
        past = self.x[i:i + self.t_in]
        future = self.x[i + self.t_in:i + self.t_in + self.t_out]
        seen = torch.isfinite(past)
        inp = torch.stack([torch.nan_to_num(past, nan=0.0), seen.float()], -1)
        return inp, future


class GraphGRU(nn.Module):
    def __init__(self, adj, hidden, t_out, dropout=0.1):
        super().__init__()
        self.register_buffer("p", adj / adj.sum(1, keepdim=True).clamp(min=1e-6))
        self.hidden = hidden
        self.inp = nn.Linear(2, hidden)
        self.zr = nn.Linear(4 * hidden, 2 * hidden)
        self.cand = nn.Linear(4 * hidden, hidden)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, t_out)

    def mix(self, h):
        return torch.cat([h, torch.einsum("nm,bmh->bnh", self.p, h)], -1)

    def forward(self, x):
        b, t, n, _ = x.shape
        h = x.new_zeros(b, n, self.hidden)
        e = torch.relu(self.inp(x))
        for k in range(t):
            z, r = torch.sigmoid(self.zr(self.mix(torch.cat([e[:, k], h], -1)))).chunk(2, -1)
            c = torch.tanh(self.cand(self.mix(torch.cat([e[:, k], r * h], -1))))
            h = z * h + (1 - z) * c
        return self.out(self.drop(h)).transpose(1, 2)


def masked_mse(pred, target):
    mask = torch.isfinite(target)
    err = (pred - target).pow(2)
    err = torch.where(mask, err, torch.zeros_like(err))
    return err.sum() / mask.sum().clamp(min=1)


@torch.no_grad()
def masked_mae(model, loader, device, std):
    model.eval()
    total = count = 0.0
    for x, y in loader:
        diff = (model(x.to(device)).cpu() - y).abs()
        mask = torch.isfinite(y)
        total += diff[mask].sum().item()
        count += mask.sum().item()
    return total / max(count, 1) * std


def train_one_epoch(model, loader, optimizer, device, clip):
    model.train()
    total, steps, skipped = 0.0, 0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = masked_mse(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        if torch.isfinite(norm):
            optimizer.step()
        else:
            skipped += 1
        total += loss.item()
        steps += 1
    return total / max(steps, 1), skipped


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--npz", required=True)
    ap.add_argument("--t-in", type=int, default=12)
    ap.add_argument("--t-out", type=int, default=12)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--patience", type=int, default=10)
    ap.add_argument("--out", default="traffic_ckpt")
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    with np.load(args.npz) as z:
        speed, adj = z["speed"].astype(np.float32), torch.from_numpy(z["adj"].astype(np.float32))
    a, b = int(0.7 * len(speed)), int(0.85 * len(speed))
    mean, std = float(np.nanmean(speed[:a])), float(np.nanstd(speed[:a]))
    make = lambda lo, hi: SensorWindows(speed, lo, hi, args.t_in, args.t_out, mean, std)
    train_dl = DataLoader(make(0, a), args.batch, shuffle=True, drop_last=True)
    val_dl, test_dl = DataLoader(make(a, b), args.batch), DataLoader(make(b, len(speed)), args.batch)

    model = GraphGRU(adj, args.hidden, args.t_out).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.3, patience=4)

    best, stale = float("inf"), 0
    path = os.path.join(args.out, "best.pt")
    for epoch in range(args.epochs):
        loss, skipped = train_one_epoch(model, train_dl, optimizer, device, args.clip)
        mae = masked_mae(model, val_dl, device, std)
        scheduler.step(mae)
        print(f"epoch {epoch:02d} mse {loss:.4f} val_mae {mae:.3f} skipped {skipped} lr {optimizer.param_groups[0]['lr']:.1e}")
        if mae < best:
            best, stale = mae, 0
            torch.save({"model": model.state_dict(), "mean": mean, "std": std}, path)
        else:
            stale += 1
            if stale > args.patience:
                break
    model.load_state_dict(torch.load(path, map_location=device)["model"])
    print(f"test mae {masked_mae(model, test_dl, device, std):.3f}")


if __name__ == "__main__":
    main()
