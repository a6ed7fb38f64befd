"""Solubility regression with a dense message passing network.

Input is jsonl, a molecule per line:
  {"atoms": [6, 6, 8], "bonds": [[0, 1, 1], [1, 2, 2]], "y": -0.77}
"""
import argparse
import json
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class Hyper:
    max_z: int = 100
    bond_types: int = 5
    hidden: int = 128
    layers: int = 4
    dropout: float = 0.1
    batch: int = 32
    epochs: int = 100
    lr: float = 1e-3
    weight_decay: float = 1e-5
    val_fraction: float = 0.1
    seed: int = 17


class Molecules(Dataset):
    def __init__(self, rows, mean, std):
        self.rows, self.mean, self.std = rows, mean, std

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], (self.rows[i]["y"] - self.mean) / self.std


def collate(batch):
    n = max(len(r["atoms"]) for r, _ in batch)
    atoms = torch.zeros(len(batch), n, dtype=torch.long)
    adj = torch.zeros(len(batch), Hyper.bond_types, n, n)
    mask = torch.zeros(len(batch), n)
    for k, (r, _) in enumerate(batch):
        m = len(r["atoms"])
        atoms[k, :m] = torch.tensor(r["atoms"])
        mask[k, :m] = 1
        for a, b, t in r["bonds"]:
            adj[k, t, a, b] = adj[k, t, b, a] = 1
    return atoms, adj, mask, torch.tensor([y for _, y in batch], dtype=torch.float)


class Message(nn.Module):
    def __init__(self, h, bond_types, dropout):
        super().__init__()
        self.lin = nn.Linear(h, h * bond_types)
        self.update = nn.GRUCell(h, h)
        self.norm = nn.LayerNorm(h)
        self.drop = nn.Dropout(dropout)
        self.k = bond_types

    def forward(self, x, adj):
        b, n, h = x.shape
        m = self.lin(x).view(b, n, self.k, h).transpose(1, 2)
        m = (adj @ m).sum(1)
        new = self.update(self.drop(m).reshape(b * n, h), x.reshape(b * n, h)).view(b, n, h)
        return self.norm(new)


class MolNet(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.atom = nn.Embedding(hp.max_z, hp.hidden)
        self.layers = nn.ModuleList(Message(hp.hidden, hp.bond_types, hp.dropout) for _ in range(hp.layers))
        self.gate = nn.Linear(2 * hp.hidden, hp.hidden)
        self.out = nn.Sequential(nn.Linear(hp.hidden, hp.hidden), nn.ReLU(), nn.Linear(hp.hidden, 1))

    def forward(self, atoms, adj, mask):
        x0 = self.atom(atoms) * mask[..., None]
        x = x0
        for layer in self.layers:
            x = layer(x, adj)
        x = torch.sigmoid(self.gate(torch.cat([x, x0], -1))) * x
        pooled = x.mean(1)
        return self.out(pooled).squeeze(-1)


@torch.no_grad()
def rmse(model, loader, device, std):
    model.eval()
    se = n = 0.0
    for atoms, adj, mask, y in loader:
        pred = model(atoms.to(device), adj.to(device), mask.to(device)).cpu()
        se += ((pred - y) ** 2).sum().item()
        n += len(y)
    return (se / n) ** 0.5 * std


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("jsonl")
    ap.add_argument("--epochs", type=int, default=Hyper.epochs)
    ap.add_argument("--hidden", type=int, default=Hyper.hidden)
    ap.add_argument("--save", default="molnet.pt")
    args = ap.parse_args()
    hp = Hyper(epochs=args.epochs, hidden=args.hidden)

    random.seed(hp.seed)
    torch.manual_seed(hp.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with open(args.jsonl) as f:
        rows = [json.loads(line) for line in f if line.strip()]
    random.shuffle(rows)
    n_val = max(1, int(len(rows) * hp.val_fraction))
    val_rows, train_rows = rows[:n_val], rows[n_val:]
    ys = torch.tensor([r["y"] for r in train_rows], dtype=torch.float)
    mean, std = ys.mean().item(), ys.std().item()

    train = DataLoader(Molecules(train_rows, mean, std), hp.batch, shuffle=True, collate_fn=collate)
    val = DataLoader(Molecules(val_rows, mean, std), hp.batch, collate_fn=collate)

    model = MolNet(hp).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, hp.lr, total_steps=hp.epochs * len(train), pct_start=0.1)

    best = float("inf")
    for epoch in range(hp.epochs):
        model.train()
        total = n = 0.0
        for atoms, adj, mask, y in train:
            pred = model(atoms.to(device), adj.to(device), mask.to(device))
            loss = F.mse_loss(pred, y.to(device))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            opt.step()
            sched.step()
            total += loss.item() * len(y)
            n += len(y)
        val_rmse = rmse(model, val, device, std)
        print(f"{epoch:3d} train mse {total / n:.4f} val rmse {val_rmse:.4f}")
        if val_rmse < best:
            best = val_rmse
            torch.save({"model": model.state_dict(), "mean": mean, "std": std, "hp": vars(hp)}, args.save)
    print(f"best val rmse {best:.4f}")


if __name__ == "__main__":
    main()
