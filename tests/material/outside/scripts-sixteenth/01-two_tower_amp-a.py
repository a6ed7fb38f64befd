"""Rating prediction with a small two-tower model, mixed precision.

    python 01-two_tower_amp.py --ratings data/ratings.csv --epochs 4
"""
import argparse
import math

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, dim=16, hidden=32):
        super().__init__()
        self.user_emb = nn.Embedding(n_users, dim)
        self.item_emb = nn.Embedding(n_items, dim)
        nn.init.normal_(self.user_emb.weight, std=0.1)
        nn.init.normal_(self.item_emb.weight, std=0.1)
        self.tower = nn.Sequential(
            nn.Linear(3 * dim, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1))
        self.mean = nn.Parameter(torch.tensor(3.0))

    def forward(self, u, i):
        eu, ei = self.user_emb(u), self.item_emb(i)
        h = torch.cat([eu, ei, eu * ei], dim=-1)
        return self.mean + self.tower(h).squeeze(-1)

    def embedding_parameters(self):
        return list(self.user_emb.parameters()) + list(self.item_emb.parameters())

    def tower_parameters(self):
        return list(self.tower.parameters()) + [self.mean]


def load(path, val_frac=0.15):
    df = pd.read_csv(path)
    u = torch.tensor(df.user.to_numpy(), dtype=torch.long)
    i = torch.tensor(df.item.to_numpy(), dtype=torch.long)
    r = torch.tensor(df.rating.to_numpy(), dtype=torch.float32)
    perm = torch.from_numpy(np.random.permutation(len(df)))
    n_val = int(len(df) * val_frac)
    tr, va = perm[n_val:], perm[:n_val]
    sizes = int(u.max()) + 1, int(i.max()) + 1
    return TensorDataset(u[tr], i[tr], r[tr]), TensorDataset(u[va], i[va], r[va]), sizes


@torch.no_grad()
def rmse(model, loader, device):
    model.eval()
    se, n = 0.0, 0
    for u, i, r in loader:
        pred = model(u.to(device), i.to(device))
        se += F.mse_loss(pred.float(), r.to(device), reduction="sum").item()
        n += len(r)
    return math.sqrt(se / n)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ratings", default="data/ratings.csv")
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--emb-lr", type=float, default=0.05)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--max-norm", type=float, default=1.0)
    args = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    amp_dtype = torch.float16 if device == "cuda" else torch.bfloat16
    train_ds, val_ds, (n_u, n_i) = load(args.ratings)
    train_dl = DataLoader(train_ds, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, batch_size=256)

    model = TwoTower(n_u, n_i).to(device)
    # embeddings get their own optimizer: few rows are touched in each batch
    opt_emb = torch.optim.Adagrad(model.embedding_parameters(), lr=args.emb_lr)
    opt_tower = torch.optim.SGD(model.tower_parameters(), lr=args.lr, momentum=0.9)
    scaler = torch.amp.GradScaler(device)

    for epoch in range(args.epochs):
        model.train()
        running, norm_sum = 0.0, 0.0
        for u, i, r in train_dl:
            u, i, r = u.to(device), i.to(device), r.to(device)
            opt_emb.zero_grad(set_to_none=True)
            opt_tower.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=amp_dtype):
                pred = model(u, i)
                loss = F.mse_loss(pred.float(), r)
            scaler.scale(loss).backward()

            scaler.unscale_(opt_emb)
            scaler.unscale_(opt_tower)
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)

            scaler.step(opt_emb)
            scaler.step(opt_tower)
            scaler.update()
            running += loss.item()
            norm_sum += float(norm)
        n = len(train_dl)
        print(f"epoch {epoch}  loss {running / n:.4f}  grad norm {norm_sum / n:.3g}  "
              f"val rmse {rmse(model, val_dl, device):.4f}")


if __name__ == "__main__":
    main()
