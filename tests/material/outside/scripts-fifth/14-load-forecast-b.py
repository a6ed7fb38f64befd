"""Electricity load forecasting with an LSTM.  Reads load.npy of the shape (hours, meters)."""
import argparse
import logging
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
LOG = logging.getLogger("forecast")


class Windows(Dataset):
    def __init__(self, series, context, horizon, stride=24):
        self.series, self.context, self.horizon = series, context, horizon
        hours, meters = series.shape
        starts = range(0, hours - context - horizon + 1, stride)
        self.index = [(s, m) for s in starts for m in range(meters)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        s, m = self.index[i]
        w = self.series[s:s + self.context + self.horizon, m]
        hour = (np.arange(s, s + len(w)) % 24) / 24.0 * 2 * np.pi
        scale = max(1e-3, float(np.abs(w[:self.context]).mean()))
        x = np.stack([w / scale, np.sin(hour), np.cos(hour)], 1).astype("float32")
        return x[:self.context], x[self.context:, 1:], x[self.context:, 0]


class Forecaster(nn.Module):
    def __init__(self, hidden, layers, dropout, horizon):
        super().__init__()
        self.rnn = nn.LSTM(3, hidden, layers, batch_first=True, dropout=dropout)
        self.head = nn.Sequential(nn.Linear(hidden + 2, hidden), nn.GELU(), nn.Linear(hidden, 3))

    def forward(self, past, future_time):
        h = self.rnn(past)[0][:, -1:]
        h = h.expand(-1, future_time.size(1), -1)
        return self.head(torch.cat([h, future_time], -1))


def pinball(pred, target, quantiles=(0.1, 0.5, 0.9)):
    q = torch.tensor(quantiles, device=pred.device)
    diff = target.unsqueeze(-1) - pred.float()
    return torch.maximum(q * diff, (q - 1) * diff).mean()


class Engine:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.amp = self.device.type == "cuda" and not args.no_amp
        series = np.load(args.file).astype("float32")
        cut = int(len(series) * 0.85)
        self.train_dl = DataLoader(Windows(series[:cut], args.context, args.horizon), args.batch_size, shuffle=True,
                                   drop_last=True, num_workers=args.workers)
        self.val_dl = DataLoader(Windows(series[cut:], args.context, args.horizon), args.batch_size)
        self.model = Forecaster(args.hidden, args.layers, 0.1, args.horizon).to(self.device)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.amp)
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(self.opt, factor=0.5, patience=3)

    def step(self, batch):
        past, future_time, y = (b.to(self.device) for b in batch)
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp):
            pred = self.model(past, future_time)
        loss = pinball(pred, y)
        self.scaler.scale(loss).backward()
        self.opt.step()
        return loss.detach()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total = n = 0
        for past, ft, y in self.val_dl:
            total += pinball(self.model(past.to(self.device), ft.to(self.device)), y.to(self.device)).item() * len(y)
            n += len(y)
        return total / max(1, n)

    def fit(self):
        best = float("inf")
        for epoch in range(self.args.epochs):
            self.model.train()
            losses = torch.stack([self.step(b) for b in self.train_dl])
            val = self.validate()
            self.plateau.step(val)
            LOG.info("epoch %d train %.4f val %.4f lr %.1e", epoch, losses.mean().item(), val,
                     self.opt.param_groups[0]["lr"])
            if val < best:
                best = val
                torch.save({"model": self.model.state_dict(), "args": vars(self.args)}, "forecast.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--file", default=str(Path("data") / "load.npy"))
    p.add_argument("--context", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--no-amp", action="store_true")
    Engine(p.parse_args()).fit()
