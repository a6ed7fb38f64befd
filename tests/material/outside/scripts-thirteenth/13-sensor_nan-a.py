"""Forecast a sensor value from a window of readings. The recordings hold a few corrupt samples,
updates with a non-finite gradient are skipped.

usage: python sensor_nan.py --data data/sensor.npz
"""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Forecaster(nn.Module):
    def __init__(self, channels, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1]).squeeze(-1)


def load(path):
    blob = np.load(path)
    x = torch.from_numpy(blob["windows"]).float()
    y = torch.from_numpy(blob["target"]).float()
    n_test = len(x) // 5
    return TensorDataset(x[:-n_test], y[:-n_test]), TensorDataset(x[-n_test:], y[-n_test:])


class Trainer:
    def __init__(self, model, lr, max_norm):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.SmoothL1Loss()
        self.max_norm = max_norm
        self.skipped = 0

    def fit_epoch(self, loader):
        self.model.train()
        self.opt.zero_grad(set_to_none=True)
        losses = []
        for x, y in loader:
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
            if torch.isfinite(norm):
                self.opt.step()
                losses.append(loss.item())
            else:
                self.skipped += 1
            self.opt.zero_grad(set_to_none=True)
        return sum(losses) / max(1, len(losses))

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        err, n = 0.0, 0
        for x, y in loader:
            e = (self.model(x) - y).abs()
            e = e[torch.isfinite(e)]
            err += e.sum().item()
            n += e.numel()
        return err / n if n else math.nan


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=20)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--max-norm", type=float, default=1.0)
    args = ap.parse_args()
    torch.manual_seed(2)

    train, test = load(args.data)
    train_loader = DataLoader(train, args.batch_size, shuffle=True)
    test_loader = DataLoader(test, 100)
    trainer = Trainer(Forecaster(train.tensors[0].size(-1)), args.lr, args.max_norm)
    for epoch in range(args.epochs):
        loss = trainer.fit_epoch(train_loader)
        print(f"epoch {epoch}: loss {loss:.4f} mae {trainer.evaluate(test_loader):.4f} skipped {trainer.skipped}")


if __name__ == "__main__":
    main()
