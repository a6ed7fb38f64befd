"""Matrix factorisation + biases on MovieLens ratings.csv (userId,movieId,rating,timestamp), on the CPU."""
import os
import sys

import numpy as np
import pandas as pd
import torch
import yaml
from torch import nn

DEFAULTS = dict(
    ratings="ml-latest-small/ratings.csv", dim=32, hidden=64, tower_layers=2, epochs=20,
    batch_size=1024, lr=2e-3, weight_decay=1e-5, seed=0, patience=3, checkpoint="mf_best.pt",
)


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, dim, hidden, tower_layers):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mu = nn.Parameter(torch.tensor(3.5))
        sizes = [dim] + [hidden] * (tower_layers - 1) + [dim]
        self.user_tower = [nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])]
        self.item_tower = [nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])]
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)

    @staticmethod
    def run(tower, h):
        for i, layer in enumerate(tower):
            h = layer(h)
            if i + 1 < len(tower):
                h = torch.relu(h)
        return h

    def forward(self, u, i):
        hu = self.run(self.user_tower, self.user(u))
        hi = self.run(self.item_tower, self.item(i))
        return (hu * hi).sum(1) + self.user_bias(u).squeeze(1) + self.item_bias(i).squeeze(1) + self.mu


def load(path, seed):
    df = pd.read_csv(path)
    df["u"] = df.userId.astype("category").cat.codes
    df["i"] = df.movieId.astype("category").cat.codes
    df = df.sample(frac=1.0, random_state=seed)
    cut = int(0.9 * len(df))
    to = lambda d: (torch.tensor(d.u.values, dtype=torch.long), torch.tensor(d.i.values, dtype=torch.long),
                    torch.tensor(d.rating.values, dtype=torch.float32))
    return to(df[:cut]), to(df[cut:]), int(df.u.max()) + 1, int(df.i.max()) + 1


def batches(data, size, generator):
    perm = torch.randperm(len(data[0]), generator=generator)
    for idx in perm.split(size):
        yield tuple(t[idx] for t in data)


@torch.no_grad()
def rmse(model, data, size=8192):
    model.eval()
    err = 0.0
    for k in range(0, len(data[0]), size):
        u, i, r = (t[k:k + size] for t in data)
        err += (model(u, i).clamp(0.5, 5.0) - r).pow(2).sum().item()
    return (err / len(data[0])) ** 0.5


def main():
    cfg = dict(DEFAULTS)
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as f:
            cfg.update(yaml.safe_load(f) or {})
    torch.manual_seed(cfg["seed"])
    train, test, nu, ni = load(cfg["ratings"], cfg["seed"])
    print(f"{nu} users, {ni} items, {len(train[0])} train ratings")

    model = TwoTower(nu, ni, cfg["dim"], cfg["hidden"], cfg["tower_layers"])
    print("trainable parameters:", sum(p.numel() for p in model.parameters()))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
    gen = torch.Generator().manual_seed(cfg["seed"])

    best, bad = float("inf"), 0
    for epoch in range(cfg["epochs"]):
        model.train()
        losses = []
        for u, i, r in batches(train, cfg["batch_size"], gen):
            loss = nn.functional.mse_loss(model(u, i), r)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        score = rmse(model, test)
        print(f"epoch {epoch + 1:2d} train {np.mean(losses) ** 0.5:.4f} test {score:.4f}")
        if score < best - 1e-4:
            best, bad = score, 0
            torch.save({"cfg": cfg, "model": model.state_dict()}, cfg["checkpoint"])
        else:
            bad += 1
            if bad >= cfg["patience"]:
                break
    print(f"best test RMSE {best:.4f} -> {os.path.abspath(cfg['checkpoint'])}")


if __name__ == "__main__":
    main()
