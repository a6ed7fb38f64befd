"""Hourly load forecasting with an LSTM. All settings come from a JSON file.

    python forecast.py --config data/forecast.json
    python forecast.py --config data/forecast.json --resume data/forecast_last.pt
"""
import argparse
import csv
import json
import math
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def read_series(path, column):
    with open(path, newline="") as f:
        values = [float(row[column]) for row in csv.DictReader(f)]
    return torch.tensor(values)


def windows(series, past, ahead):
    n = len(series) - past - ahead + 1
    x = torch.stack([series[i : i + past] for i in range(n)])
    y = torch.stack([series[i + past : i + past + ahead] for i in range(n)])
    return x.unsqueeze(-1), y


class Forecaster(nn.Module):
    def __init__(self, hidden, ahead):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, ahead)

    def forward(self, x):
        h, _ = self.lstm(x)
        return self.head(h[:, -1])


def make_lr_lambda(warmup, total, floor):
    def f(step):
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, total - warmup))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))

    return f


def save(path, model, optimizer, epoch, global_step, best):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": epoch,
            "global_step": global_step,
            "best": best,
        },
        path,
    )


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="data/forecast.json")
    ap.add_argument("--resume", default=None)
    ap.add_argument("--stop-after", type=int, default=None, help="leave after this many epochs in all")
    args = ap.parse_args()
    with open(args.config) as f:
        cfg = json.load(f)

    torch.manual_seed(cfg["seed"])
    series = read_series(cfg["csv"], cfg["column"])
    cut = int(len(series) * 0.8)
    mean, std = series[:cut].mean(), series[:cut].std()
    series = (series - mean) / std
    xtr, ytr = windows(series[:cut], cfg["past"], cfg["ahead"])
    xva, yva = windows(series[cut:], cfg["past"], cfg["ahead"])
    loader = DataLoader(TensorDataset(xtr, ytr), cfg["batch_size"], shuffle=True, drop_last=True)

    model = Forecaster(cfg["hidden"], cfg["ahead"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
    total_steps = len(loader) * cfg["epochs"]

    start_epoch, global_step, best = 0, 0, float("inf")
    if args.resume:
        ckpt = torch.load(args.resume, map_location="cpu")
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        start_epoch = ckpt["epoch"] + 1
        global_step = ckpt["global_step"]
        best = ckpt["best"]
        print(f"resumed after epoch {ckpt['epoch']} at step {global_step}")

    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        make_lr_lambda(cfg["warmup_steps"], total_steps, cfg["lr_floor"]),
        last_epoch=global_step - 1,
    )

    for epoch in range(start_epoch, cfg["epochs"]):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
            optimizer.step()
            scheduler.step()
            global_step += 1
            total += loss.item()
        val = evaluate(model, xva, yva)
        best = min(best, val)
        print(f"epoch {epoch} step {global_step} train {total / len(loader):.4f} val {val:.4f} lr {scheduler.get_last_lr()[0]:.3e}")
        save(os.path.join(cfg["out"], "last.pt"), model, optimizer, epoch, global_step, best)
        if args.stop_after is not None and epoch + 1 >= args.stop_after:
            break
    print(f"best val mse {best:.4f}")


if __name__ == "__main__":
    main()
