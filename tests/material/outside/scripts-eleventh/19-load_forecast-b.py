"""Day-ahead electricity load forecasting. Preemptible: rerun the same command to continue from <run>/last.pt."""
import argparse
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CONTEXT, HORIZON = 168, 24


def load_frame(path):
    df = pd.read_csv(path, parse_dates=["time"]).sort_values("time")
    load = df["load_mw"].interpolate().to_numpy(np.float32)
    temp = df["temperature"].interpolate().to_numpy(np.float32)
    hour = df["time"].dt.hour.to_numpy() / 24 * 2 * np.pi
    dow = df["time"].dt.dayofweek.to_numpy() / 7 * 2 * np.pi
    cal = np.stack([np.sin(hour), np.cos(hour), np.sin(dow), np.cos(dow)], 1).astype(np.float32)
    cut = int(len(df) * 0.85)
    stats = {"load": (float(load[:cut].mean()), float(load[:cut].std())),
             "temp": (float(temp[:cut].mean()), float(temp[:cut].std()))}
    load = (load - stats["load"][0]) / stats["load"][1]
    temp = (temp - stats["temp"][0]) / stats["temp"][1]
    return load, np.concatenate([cal, temp[:, None]], 1), cut, stats


class Windows(Dataset):
    def __init__(self, load, cov, lo, hi):
        self.load, self.cov = torch.from_numpy(load), torch.from_numpy(cov)
        self.starts = range(lo, hi - CONTEXT - HORIZON + 1)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        s = self.starts[i]
        m, e = s + CONTEXT, s + CONTEXT + HORIZON
        return self.load[s:m], self.cov[s:e], self.load[m:e]


class LoadFormer(nn.Module):
    def __init__(self, n_cov=5, dim=128, heads=8, layers=3, dropout=0.1):
        super().__init__()
        self.inp = nn.Linear(2 + n_cov, dim)
        self.pos = nn.Parameter(torch.randn(1, CONTEXT + HORIZON, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.out = nn.Linear(dim, 1)

    def forward(self, past, cov):
        b = past.size(0)
        y = torch.cat([past, past.new_zeros(b, HORIZON)], 1)
        known = torch.cat([past.new_ones(b, CONTEXT), past.new_zeros(b, HORIZON)], 1)
        h = self.inp(torch.cat([y[..., None], known[..., None], cov], -1)) + self.pos
        return self.out(self.enc(h)[:, CONTEXT:]).squeeze(-1)


class Run:
    def __init__(self, args):
        self.args = args
        self.dir = Path(args.run)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        load, cov, cut, self.stats = load_frame(args.csv)
        self.train_dl = DataLoader(Windows(load, cov, 0, cut), args.batch, shuffle=True, drop_last=True)
        self.val_dl = DataLoader(Windows(load, cov, cut - CONTEXT, len(load)), args.batch)
        self.model = LoadFormer().to(self.device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.01)
        total, warm = args.epochs * len(self.train_dl), args.warmup
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.opt,
            lambda s: (s + 1) / warm if s < warm else 0.5 * (1 + math.cos(math.pi * min(1, (s - warm) / max(1, total - warm)))))
        self.epoch, self.best = 0, float("inf")

    def save(self):
        tmp = self.dir / "last.pt.tmp"
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "sched": self.sched.state_dict(),
                    "epoch": self.epoch, "best": self.best}, tmp)
        tmp.replace(self.dir / "last.pt")

    def maybe_resume(self):
        path = self.dir / "last.pt"
        if not path.exists():
            return
        ck = torch.load(path, map_location=self.device)
        self.model.load_state_dict(ck["model"])
        self.opt.load_state_dict(ck["opt"])
        self.epoch, self.best = ck["epoch"], ck["best"]
        print(f"resumed at epoch {self.epoch}")

    def train_epoch(self):
        self.model.train()
        tot = 0.0
        for past, cov, y in self.train_dl:
            past, cov, y = past.to(self.device), cov.to(self.device), y.to(self.device)
            loss = nn.functional.huber_loss(self.model(past, cov), y)
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.sched.step()
            tot += loss.item()
        return tot / len(self.train_dl)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        err = n = 0.0
        for past, cov, y in self.val_dl:
            err += (self.model(past.to(self.device), cov.to(self.device)).cpu() - y).abs().sum().item()
            n += y.numel()
        return err / n * self.stats["load"][1]

    def fit(self):
        self.maybe_resume()
        while self.epoch < self.args.epochs:
            tr = self.train_epoch()
            mae = self.validate()
            self.epoch += 1
            if mae < self.best:
                self.best = mae
                torch.save({"model": self.model.state_dict(), "stats": self.stats}, self.dir / "best.pt")
            self.save()
            rec = {"epoch": self.epoch, "train": tr, "val_mae_mw": mae, "lr": self.opt.param_groups[0]["lr"]}
            print(rec)
            with open(self.dir / "log.jsonl", "a") as f:
                f.write(json.dumps(rec) + "\n")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--run", default="runs/load")
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--warmup", type=int, default=300)
    Run(ap.parse_args()).fit()
