"""Neural collaborative filtering on made-up ratings, fp16 with loss scaling on the GPU."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--users", type=int, default=2000)
parser.add_argument("--items", type=int, default=800)
parser.add_argument("--ratings", type=int, default=120000)
parser.add_argument("--dim", type=int, default=64)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--batch-size", type=int, default=1024)
parser.add_argument("--lr", type=float, default=0.5)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--l2", type=float, default=0.2)
parser.add_argument("--fp16", action=argparse.BooleanOptionalAction, default=torch.cuda.is_available())
parser.add_argument("--seed", type=int, default=0)


class NCF(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 64), nn.ReLU(),
                                 nn.Linear(64, 1))
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        out = self.mlp(torch.cat([a, b], -1)).squeeze(-1) + (a * b).sum(-1)
        return out + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


def simulate(args):
    rng = np.random.default_rng(args.seed)
    pu, qi = rng.normal(size=(args.users, 8)), rng.normal(size=(args.items, 8))
    bu, bi = rng.normal(scale=0.4, size=args.users), rng.normal(scale=0.4, size=args.items)
    u = rng.integers(0, args.users, args.ratings)
    i = rng.integers(0, args.items, args.ratings)
    r = (pu[u] * qi[i]).sum(1) * 0.25 + bu[u] + bi[i] + rng.normal(scale=0.2, size=args.ratings)
    return TensorDataset(torch.as_tensor(u), torch.as_tensor(i), torch.as_tensor(r, dtype=torch.float32))


def rmse(model, loader, device):
    model.eval()
    se = n = 0.0
    with torch.no_grad():
        for u, i, r in loader:
            se += (model(u.to(device), i.to(device)).float().cpu() - r).pow(2).sum().item()
            n += len(r)
    return (se / n) ** 0.5


def train_one_epoch(model, loader, optimizer, scaler, device, fp16, l2):
    model.train()
    total = 0.0
    for u, i, r in loader:
        u, i, r = u.to(device), i.to(device), r.to(device)
        with torch.autocast(device, dtype=torch.float16, enabled=fp16):
            pred = model(u, i)
            loss = F.mse_loss(pred, r)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        # the penalty is kept in fp32
        penalty = l2 * (model.user(u).pow(2).sum(1) + model.item(i).pow(2).sum(1)).mean()
        penalty.backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.item() * len(r)
    return total / len(loader.dataset)


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = simulate(args)
    n_val = len(data) // 10
    train, val = random_split(data, [len(data) - n_val, n_val])
    train_dl = DataLoader(train, args.batch_size, shuffle=True)
    val_dl = DataLoader(val, 4 * args.batch_size)
    model = NCF(args.users, args.items, args.dim).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=1e-6)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.3)
    scaler = torch.amp.GradScaler(device, enabled=args.fp16)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_dl, optimizer, scaler, device, args.fp16, args.l2)
        scheduler.step()
        print(f"epoch {epoch:2d} mse {loss:.4f} val rmse {rmse(model, val_dl, device):.4f}")


if __name__ == "__main__":
    main()
