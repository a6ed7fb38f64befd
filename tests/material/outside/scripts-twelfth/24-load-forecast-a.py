import argparse
import csv
import json
import os
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, context, horizon):
        self.s, self.c, self.h = torch.as_tensor(series, dtype=torch.float32), context, horizon

    def __len__(self):
        return len(self.s) - self.c - self.h + 1

    def __getitem__(self, i):
        return self.s[i : i + self.c, None], self.s[i + self.c : i + self.c + self.h]


class Forecaster(nn.Module):
    def __init__(self, hidden, horizon, quantiles):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(hidden, horizon * quantiles)
        self.quantiles = quantiles

    def forward(self, x):
        last = x[:, -1:, :]
        h, _ = self.rnn(x - last)
        return self.head(h[:, -1]).unflatten(1, (-1, self.quantiles)) + last


def pinball(pred, target, q):
    err = target.unsqueeze(-1) - pred
    return torch.maximum(q * err, (q - 1) * err).mean()


class Trainer:
    def __init__(self, args, series):
        self.args = args
        cut = int(0.8 * len(series))
        mean, std = series[:cut].mean(), series[:cut].std()
        z = (series - mean) / std
        self.train_dl = DataLoader(
            Windows(z[:cut], args.context, args.horizon), args.batch_size, shuffle=True
        )
        self.val_dl = DataLoader(Windows(z[cut - args.context :], args.context, args.horizon), 256)
        self.q = torch.tensor([0.1, 0.5, 0.9])
        self.model = Forecaster(args.hidden, args.horizon, len(self.q))
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=1e-3)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, args.epochs, eta_min=1e-5)
        self.epoch, self.best, self.bad = 0, float("inf"), 0
        self.path = os.path.join(args.out, "last.pt")

    def save(self):
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "sched": self.sched.state_dict(),
            "epoch": self.epoch,
            "best": self.best,
            "bad": self.bad,
        }
        torch.save(state, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)

    def resume(self):
        ckpt = torch.load(self.path, map_location="cpu")
        self.model.load_state_dict(ckpt["model"])
        self.opt.load_state_dict(ckpt["opt"])
        self.sched.load_state_dict(ckpt["sched"])
        self.epoch, self.best, self.bad = ckpt["epoch"], ckpt["best"], ckpt["bad"]
        print(f"resumed at epoch {self.epoch} lr {self.opt.param_groups[0]['lr']:.2e}")

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_dl:
            self.opt.zero_grad()
            loss = pinball(self.model(x), y, self.q)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            total += loss.item() * len(x)
        return total / len(self.train_dl.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total = sum(pinball(self.model(x), y, self.q).item() * len(x) for x, y in self.val_dl)
        return total / len(self.val_dl.dataset)

    def fit(self):
        while self.epoch < self.args.epochs and self.bad < self.args.patience:
            tr, va = self.train_epoch(), self.validate()
            self.sched.step()
            self.epoch += 1
            if va < self.best:
                self.best, self.bad = va, 0
                torch.save(self.model.state_dict(), os.path.join(self.args.out, "best.pt"))
            else:
                self.bad += 1
            self.save()
            row = {"epoch": self.epoch, "train": tr, "val": va, "lr": self.opt.param_groups[0]["lr"]}
            with open(os.path.join(self.args.out, "log.jsonl"), "a") as f:
                f.write(json.dumps(row) + "\n")
            print(row)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", default="data/load.csv")
    ap.add_argument("--out", default="runs/load")
    ap.add_argument("--context", type=int, default=72)
    ap.add_argument("--horizon", type=int, default=24)
    ap.add_argument("--hidden", type=int, default=48)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--patience", type=int, default=10)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--resume", action="store_true")
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    random.seed(0)
    torch.manual_seed(0)
    with open(args.csv, newline="") as f:
        series = np.array([float(r["load"]) for r in csv.DictReader(f)])
    trainer = Trainer(args, series)
    if args.resume and os.path.exists(trainer.path):
        trainer.resume()
    trainer.fit()


if __name__ == "__main__":
    main()
