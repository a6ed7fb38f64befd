"""House price regression on data/houses.csv with accelerate."""
import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

NUMERIC = ["area", "rooms", "age", "distance"]
CATEGORICAL = ["district", "heating"]
TARGET = "price"


class TabularNet(nn.Module):
    def __init__(self, cards, n_num, hidden=256, drop=0.1):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c + 1, min(32, (c + 3) // 2)) for c in cards])
        width = n_num + sum(e.embedding_dim for e in self.embs)
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Dropout(drop),
                                  nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Dropout(drop),
                                  nn.Linear(hidden, 1))

    def forward(self, num, cat):
        parts = [num] + [e(cat[:, i]) for i, e in enumerate(self.embs)]
        return self.body(torch.cat(parts, 1)).squeeze(1)


def load(path, val_fraction, seed):
    df = pd.read_csv(path).dropna(subset=[TARGET])
    rng = np.random.default_rng(seed)
    is_val = rng.random(len(df)) < val_fraction
    stats = df.loc[~is_val, NUMERIC].agg(["mean", "std"])
    num = ((df[NUMERIC] - stats.loc["mean"]) / (stats.loc["std"] + 1e-6)).fillna(0).to_numpy("float32")
    cats, cards = [], []
    for c in CATEGORICAL:
        levels = sorted(df.loc[~is_val, c].astype(str).unique())
        lut = {v: i + 1 for i, v in enumerate(levels)}
        cats.append(df[c].astype(str).map(lut).fillna(0).astype("int64").to_numpy())
        cards.append(len(levels))
    y = np.log1p(df[TARGET].to_numpy("float32"))
    mu, sd = y[~is_val].mean(), y[~is_val].std()
    y = (y - mu) / sd
    make = lambda m: TensorDataset(torch.tensor(num[m]), torch.tensor(np.stack(cats, 1)[m]), torch.tensor(y[m]))
    return make(~is_val), make(is_val), cards


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--csv", type=Path, default=Path("data/houses.csv"))
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--grad-accum", type=int, default=4)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--mixed-precision", default="no", choices=["no", "bf16", "fp16"])
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output", type=Path, default=Path("runs/tabular"))
    args = p.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=args.grad_accum, mixed_precision=args.mixed_precision)
    set_seed(args.seed)
    train_ds, val_ds, cards = load(args.csv, 0.15, args.seed)
    train_dl = DataLoader(train_ds, args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, args.batch_size)
    model = TabularNet(cards, len(NUMERIC))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    model, optimizer, train_dl, val_dl = accelerator.prepare(model, optimizer, train_dl, val_dl)
    loss_fn = nn.SmoothL1Loss()

    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for num, cat, y in train_dl:
            with accelerator.accumulate(model):
                loss = loss_fn(model(num, cat), y)
                total += loss.item()
                accelerator.backward(loss / args.grad_accum)
                optimizer.step()
                optimizer.zero_grad()

        model.eval()
        err = []
        with torch.no_grad():
            for num, cat, y in val_dl:
                pred = model(num, cat)
                pred, y = accelerator.gather_for_metrics((pred, y))
                err.append((pred.float() - y).pow(2))
        rmse = torch.cat(err).mean().sqrt().item()
        accelerator.print(f"epoch {epoch}: train {total / len(train_dl):.4f} val rmse {rmse:.4f}")
        if rmse < best:
            best = rmse
            accelerator.wait_for_everyone()
            if accelerator.is_main_process:
                args.output.mkdir(parents=True, exist_ok=True)
            accelerator.save(accelerator.unwrap_model(model).state_dict(), args.output / "best.pt")


if __name__ == "__main__":
    main()
