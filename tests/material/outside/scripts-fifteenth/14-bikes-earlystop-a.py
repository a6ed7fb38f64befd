from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
import torch
from torch import nn, Tensor


class Split(NamedTuple):
    x: Tensor
    y: Tensor


def load(target: str = "rentals") -> tuple[Split, Split, Split]:
    d = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "bikes.npz"))
    x, y = torch.tensor(d["x"]), torch.tensor(d[target])[:, None]
    a, b = 160, 260
    m, s = y[:a].mean(), y[:a].std()
    y = (y - m) / s
    return Split(x[:a], y[:a]), Split(x[a:b], y[a:b]), Split(x[b:], y[b:])


class EarlyStopper:
    """Keeps the best weights and says when patience has run out."""

    def __init__(self, patience: int):
        self.patience = patience
        self.best = float("inf")
        self.bad = 0
        self.state: dict | None = None
        self.best_epoch = -1

    def update(self, epoch: int, value: float, model: nn.Module) -> bool:
        if value < self.best:
            self.best, self.best_epoch, self.bad = value, epoch, 0
            self.state = model.state_dict()
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model: nn.Module) -> None:
        model.load_state_dict(self.state)


def evaluate(model: nn.Module, split: Split) -> float:
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(split.x), split.y).item()


def train(model, tr: Split, va: Split, *, epochs=60, bs=32, lr=4e-3, patience=8):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    stop = EarlyStopper(patience)
    for epoch in range(epochs):
        model.train()
        for idx in torch.randperm(len(tr.x)).split(bs):
            opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(model(tr.x[idx]), tr.y[idx])
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            opt.step()
        v = evaluate(model, va)
        if epoch % 5 == 0:
            print(f"{epoch:3d} valid {v:.4f}")
        if stop.update(epoch, v, model):
            print("stopping at", epoch)
            break
    stop.restore(model)
    print(f"best epoch {stop.best_epoch} valid {stop.best:.4f}")
    return model


def main():
    torch.set_num_threads(1)
    torch.manual_seed(21)
    tr, va, te = load()
    model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    model = train(model, tr, va)
    print(f"valid again {evaluate(model, va):.4f} test {evaluate(model, te):.4f}")


if __name__ == "__main__":
    main()
