"""Biased matrix factorization on a ratings.csv."""
import csv
import pathlib

import numpy as np
import torch
from torch import nn

RATINGS = pathlib.Path("ratings.csv")
FACTORS, LR, REG, EPOCHS, BATCH = 4, 2e-2, 1e-4, 12, 128


def generate(path, users=150, items=80, per_user=25, seed=0):
    rng = np.random.default_rng(seed)
    bu, bi = rng.normal(0, 0.5, users), rng.normal(0, 0.7, items)
    p, q = rng.normal(0, 0.5, (users, 3)), rng.normal(0, 0.5, (items, 3))
    with path.open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["user_id", "item_id", "rating"])
        for u in range(users):
            for i in rng.choice(items, per_user, replace=False):
                r = 3.5 + bu[u] + bi[i] + p[u] @ q[i] + rng.normal(0, 0.2)
                out.writerow([u, i, f"{np.clip(r, 0.5, 5):.1f}"])


def load(path):
    with path.open() as f:
        rows = [(int(r["user_id"]), int(r["item_id"]), float(r["rating"])) for r in csv.DictReader(f)]
    u, i, r = zip(*rows)
    return torch.tensor(u), torch.tensor(i), torch.tensor(r)


class MF(nn.Module):
    def __init__(self, n_users, n_items, mean):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, FACTORS)
        self.item_factors = nn.Embedding(n_items, FACTORS)
        nn.init.normal_(self.user_factors.weight, std=0.05)
        nn.init.normal_(self.item_factors.weight, std=0.05)
        self.user_bias = torch.zeros(n_users, requires_grad=True)
        self.item_bias = torch.zeros(n_items, requires_grad=True)
        self.register_buffer("mean", torch.tensor(mean))

    def forward(self, u, i):
        dot = (self.user_factors(u) * self.item_factors(i)).sum(1)
        return self.mean + self.user_bias[u] + self.item_bias[i] + dot


def rmse(model, u, i, r):
    with torch.no_grad():
        return (model(u, i) - r).pow(2).mean().sqrt().item()


def main():
    torch.manual_seed(0)
    if not RATINGS.exists():
        generate(RATINGS)
    u, i, r = load(RATINGS)
    perm = torch.randperm(len(r))
    cut = int(0.9 * len(r))
    tr, va = perm[:cut], perm[cut:]
    model = MF(int(u.max()) + 1, int(i.max()) + 1, float(r[tr].mean()))
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, weight_decay=REG)
    best, bad = float("inf"), 0
    for epoch in range(EPOCHS):
        model.train()
        for b in tr[torch.randperm(cut)].split(BATCH):
            loss = (model(u[b], i[b]) - r[b]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        val = rmse(model, u[va], i[va], r[va])
        print(f"epoch {epoch:2d}  train {rmse(model, u[tr], i[tr], r[tr]):.4f}  val {val:.4f}")
        if val < best - 1e-4:
            best, bad = val, 0
        else:
            bad += 1
            if bad == 3:
                break
    print(f"best val rmse {best:.4f}")


if __name__ == "__main__":
    main()
