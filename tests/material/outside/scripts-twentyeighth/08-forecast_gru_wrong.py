"""One-step-ahead and multi-horizon forecasting of synthetic load curves with a GRU."""
import argparse
import copy
import json
import math
from dataclasses import asdict, dataclass, fields

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    context: int = 48
    horizon: int = 12
    hidden: int = 32
    batch_size: int = 32
    accum: int = 2
    epochs: int = 8
    lr: float = 1e-2
    patience: int = 2          # epochs without improvement before the rate is cut
    lr_factor: float = 0.5
    early_stop: int = 6        # epochs
    clip: float = 1.0
    seed: int = 42
    out: str = "forecast.pt"


class LoadCurves(Dataset):
    """Sliding windows over a daily + weekly pattern with noise and a slow trend."""

    def __init__(self, cfg, start, length, mean=None, std=None):
        t = torch.arange(start, start + length, dtype=torch.float32)
        g = torch.Generator().manual_seed(cfg.seed + start)
        series = (torch.sin(2 * math.pi * t / 24) + 0.5 * torch.sin(2 * math.pi * t / 168 + 1)
                  + 0.0003 * t + 0.1 * torch.randn(length, generator=g))
        self.mean = series.mean() if mean is None else mean
        self.std = series.std() if std is None else std
        self.series = (series - self.mean) / self.std
        self.context, self.horizon = cfg.context, cfg.horizon

    def __len__(self):
        return (len(self.series) - self.context - self.horizon) // 2

    def __getitem__(self, i):
        s = 2 * i
        mid = s + self.context
        return self.series[s:mid].unsqueeze(-1), self.series[mid:mid + self.horizon]


class Forecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gru = nn.GRU(1, cfg.hidden, batch_first=True)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(cfg.hidden, cfg.horizon))

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1])


def evaluate(model, loader, device):
    model.eval()
    err, n = 0.0, 0
    with torch.inference_mode():
        for x, y in loader:
            err += (model(x.to(device)) - y.to(device)).pow(2).sum().item()
            n += y.numel()
    return err / n


def run(cfg):
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set = LoadCurves(cfg, 0, 1400)
    val_set = LoadCurves(cfg, 1400, 400, train_set.mean, train_set.std)
    train_loader = DataLoader(train_set, cfg.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, 128)
    n_batches = len(train_loader) - len(train_loader) % cfg.accum

    model = Forecaster(cfg).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="min", factor=cfg.lr_factor, patience=cfg.patience)
    criterion = nn.MSELoss()

    best, best_state, since_best, log = float("inf"), None, 0, []
    for epoch in range(cfg.epochs):
        model.train()
        optimizer.zero_grad()
        train_loss = 0.0
        for step, (x, y) in enumerate(train_loader):
            if step == n_batches:
                break
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
            (loss / cfg.accum).backward()
            train_loss += loss.item() / n_batches
            if (step + 1) % cfg.accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step(loss.item())

        val_loss = evaluate(model, val_loader, device)
        lr = optimizer.param_groups[0]["lr"]
        log.append({"epoch": epoch, "train": train_loss, "val": val_loss, "lr": lr})
        print(json.dumps(log[-1]))

        if val_loss < best:
            best, since_best = val_loss, 0
            best_state = copy.deepcopy(model.state_dict())
        else:
            since_best += 1
            if since_best >= cfg.early_stop:
                print("early stop")
                break
    torch.save({"config": asdict(cfg), "best": best_state, "last": model.state_dict(), "log": log}, cfg.out)
    return model


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    for f in fields(Config):
        ap.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
    run(Config(**vars(ap.parse_args())))
