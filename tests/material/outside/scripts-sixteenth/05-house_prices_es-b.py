"""House price regression with early stopping; the final test uses the best validation weights."""
import argparse
import copy
import json

import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience=5, min_delta=0.0):
        self.patience = patience
        self.min_delta = min_delta
        self.best = float("inf")
        self.best_epoch = -1
        self.best_state = None
        self.bad = 0

    def step(self, value, model, epoch):
        if value < self.best - self.min_delta:
            self.best = value
            self.best_epoch = epoch
            self.best_state = copy.copy(model.state_dict())
            self.bad = 0
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.best_state)


def build(n_in, width):
    return nn.Sequential(
        nn.Linear(n_in, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 1), nn.Flatten(0))


def prepare(csv_path):
    df = pd.read_csv(csv_path).sample(frac=1.0)
    x = torch.tensor(df.drop(columns="price").values, dtype=torch.float32)
    y = torch.tensor(df["price"].values, dtype=torch.float32)
    n = len(df)
    a, b = int(n * 0.25), int(n * 0.5)      # few training rows: this overfits quickly
    mu, sd = x[:a].mean(0), x[:a].std(0)
    ym, ys = y[:a].mean(), y[:a].std()
    x, y = (x - mu) / sd, (y - ym) / ys
    return (TensorDataset(x[:a], y[:a]), TensorDataset(x[a:b], y[a:b]), TensorDataset(x[b:], y[b:]), ys.item())


@torch.no_grad()
def evaluate(model, ds):
    model.eval()
    x, y = ds.tensors
    return nn.functional.mse_loss(model(x), y).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", required=True)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--patience", type=int, default=8)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--width", type=int, default=128)
    args = parser.parse_args()

    train, val, test, scale = prepare(args.csv)
    loader = DataLoader(train, batch_size=16, shuffle=True)
    model = build(train.tensors[0].shape[1], args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    stopper = EarlyStopping(args.patience)

    history = []
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        v = evaluate(model, val)
        history.append(round(v, 4))
        if stopper.step(v, model, epoch):
            print(f"stopped at epoch {epoch}")
            break

    stopper.restore(model)
    print(json.dumps({
        "best_epoch": stopper.best_epoch,
        "best_val": round(stopper.best, 5),
        "val_restored": round(evaluate(model, val), 5),
        "test_rmse": round((evaluate(model, test) ** 0.5) * scale, 2),
        "val_tail": history[-5:],
    }, indent=1))


if __name__ == "__main__":
    main()
