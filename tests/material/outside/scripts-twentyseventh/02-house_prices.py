"""Tabular regression on data/houses.csv (last column is the price).

    python house_prices.py
"""
import csv
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn


@dataclass
class Config:
    csv_path: str = "data/houses.csv"
    target: str = "price"
    log_columns: tuple = ("area", "lot")
    hidden: int = 64
    depth: int = 3
    batch_size: int = 64
    epochs: int = 15
    lr: float = 2e-3
    weight_decay: float = 1e-2
    max_norm: float = 5.0
    val_fraction: float = 0.2
    seed: int = 7
    out_dir: str = "runs/houses"
    resume: bool = False


def load_table(cfg):
    with open(cfg.csv_path, newline="") as f:
        rows = list(csv.DictReader(f))
    names = [c for c in rows[0] if c != cfg.target]
    cols = []
    for name in names:
        col = torch.tensor([float(r[name]) if r[name] else float("nan") for r in rows])
        if name in cfg.log_columns:
            col = torch.log(col)
        cols.append(col)
    x = torch.stack(cols, dim=1)
    y = torch.tensor([float(r[cfg.target]) for r in rows]).log()
    return names, x, y


class ResMLP(nn.Module):
    def __init__(self, d_in, hidden, depth):
        super().__init__()
        self.inp = nn.Linear(d_in, hidden)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
            for _ in range(depth))
        self.out = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 1))

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = h + block(h)
        return self.out(h).squeeze(-1)


def param_groups(model, weight_decay):
    decay, no_decay = [], []
    for p in model.parameters():
        (decay if p.ndim >= 2 else no_decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay},
            {"params": no_decay, "weight_decay": 0.0}]


@torch.no_grad()
def rmse(model, x, y):
    model.eval()
    pred = model(x)
    ok = torch.isfinite(pred)
    return (pred[ok] - y[ok]).pow(2).mean().sqrt().item()


def train(cfg: Config):
    torch.manual_seed(cfg.seed)
    out = Path(cfg.out_dir)
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(asdict(cfg), indent=2))

    names, x, y = load_table(cfg)
    perm = torch.randperm(len(x))
    n_val = int(len(x) * cfg.val_fraction)
    val_idx, tr_idx = perm[:n_val], perm[n_val:]
    xt = x[tr_idx]
    finite = torch.where(torch.isfinite(xt), xt, torch.zeros_like(xt))
    mean, std = finite.mean(0), finite.std(0) + 1e-6
    y_mean, y_std = y[tr_idx].mean(), y[tr_idx].std()
    x = (x - mean) / std
    y = (y - y_mean) / y_std
    print(f"{len(names)} features, {len(tr_idx)} train rows, {n_val} validation rows")

    model = ResMLP(x.shape[1], cfg.hidden, cfg.depth)
    optimizer = torch.optim.AdamW(param_groups(model, cfg.weight_decay), lr=cfg.lr)
    steps_per_epoch = math.ceil(len(tr_idx) / cfg.batch_size)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg.epochs * steps_per_epoch)
    loss_fn = nn.HuberLoss()

    start, best = 0, float("inf")
    last = out / "last.pt"
    if cfg.resume and last.exists():
        ck = torch.load(last)
        model.load_state_dict(ck["model"])
        optimizer.load_state_dict(ck["optimizer"])
        scheduler.load_state_dict(ck["scheduler"])
        start, best = ck["epoch"] + 1, ck["best"]

    skipped = 0
    optimizer.zero_grad()
    for epoch in range(start, cfg.epochs):
        model.train()
        order = tr_idx[torch.randperm(len(tr_idx))]
        total, count = 0.0, 0
        for idx in order.split(cfg.batch_size):
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            if not torch.isfinite(grad_norm):
                # a broken row (empty cell, zero area) made it into the batch: drop this batch
                skipped += 1
                optimizer.zero_grad()
                scheduler.step()
                continue
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            total += loss.item() * len(idx)
            count += len(idx)
        val = rmse(model, x[val_idx], y[val_idx])
        print(f"epoch {epoch:3d}  train {total / max(count, 1):.4f}  val rmse {val:.4f}  "
              f"skipped so far {skipped}  lr {scheduler.get_last_lr()[0]:.2e}")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "epoch": epoch, "best": min(best, val)}, last)
        if val < best:
            best = val
            torch.save(model.state_dict(), out / "best.pt")
    print(f"best rmse (log price, standardised): {best:.4f}")
    return model


if __name__ == "__main__":
    train(Config())
