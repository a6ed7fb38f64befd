"""Multi-horizon load forecasting with a residual TCN. Activations of all blocks are recomputed
in the backward pass so that long windows fit in memory."""
import argparse
import os

import numpy as np
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, window, horizon):
        self.series, self.window, self.horizon = series, window, horizon

    def __len__(self):
        return len(self.series) - self.window - self.horizon

    def __getitem__(self, i):
        x = self.series[i : i + self.window]
        y = self.series[i + self.window : i + self.window + self.horizon, 0]
        return x.T, y


class CausalBlock(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.c1 = nn.Conv1d(cin, cout, 3, dilation=dilation)
        self.c2 = nn.Conv1d(cout, cout, 3, dilation=dilation)
        self.n1, self.n2 = nn.GroupNorm(4, cout), nn.GroupNorm(4, cout)
        self.skip = nn.Conv1d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x):
        h = torch.relu(self.n1(self.c1(nn.functional.pad(x, (self.pad, 0)))))
        h = self.n2(self.c2(nn.functional.pad(h, (self.pad, 0))))
        return torch.relu(h + self.skip(x))


class TCN(nn.Module):
    def __init__(self, channels, width, depth, horizon):
        super().__init__()
        dims = [channels] + [width] * depth
        self.blocks = nn.ModuleList(CausalBlock(a, b, 2**i) for i, (a, b) in enumerate(zip(dims, dims[1:])))
        self.head = nn.Linear(width, horizon)

    def forward(self, x):
        for block in self.blocks:
            if self.training:
                x = checkpoint(block, x, use_reentrant=True)
            else:
                x = block(x)
        return self.head(x[:, :, -1])


def load_series(path):
    if path and os.path.exists(path):
        raw = np.load(path).astype(np.float32)
    else:
        t = np.arange(3000)
        rng = np.random.default_rng(0)
        load = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168) + 0.1 * rng.standard_normal(len(t))
        temp = np.cos(2 * np.pi * t / 24 + 0.3) + 0.1 * rng.standard_normal(len(t))
        hour = (t % 24) / 23.0
        raw = np.stack([load, temp, hour], 1).astype(np.float32)
    cut = int(0.8 * len(raw))
    mean, std = raw[:cut].mean(0), raw[:cut].std(0) + 1e-6
    data = torch.from_numpy((raw - mean) / std)
    return data[:cut], data[cut:]


def run_validation(model, loader, device):
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            pred = model(x.to(device))
            err += (pred - y.to(device)).abs().sum().item()
            n += y.numel()
    model.train()
    return err / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--series", default="load.npy")
    p.add_argument("--window", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--depth", type=int, default=4)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    a = p.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train, test = load_series(a.series)
    train_dl = DataLoader(Windows(train, a.window, a.horizon), a.batch, shuffle=True, drop_last=True)
    test_dl = DataLoader(Windows(test, a.window, a.horizon), 256)
    model = TCN(train.shape[1], a.width, a.depth, a.horizon).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    loss_fn = nn.HuberLoss()
    best = float("inf")
    model.train()
    for epoch in range(a.epochs):
        total = 0.0
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            loss = loss_fn(model(x), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item()
        mae = run_validation(model, test_dl, device)
        print(f"{epoch}: train {total / len(train_dl):.4f} val MAE {mae:.4f}")
        if mae < best:
            best = mae
            torch.save(model.state_dict(), "tcn_best.pt")


if __name__ == "__main__":
    main()
