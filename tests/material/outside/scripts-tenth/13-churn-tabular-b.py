# Customer churn: MLP with entity embeddings, early stopping on validation AUC.
# usage: python churn.py --csv churn.csv --target churned
import argparse
import copy
import pickle

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def auc(y, score):
    ranks = pd.Series(score).rank().to_numpy()
    pos = y > 0.5
    n1, n0 = pos.sum(), (~pos).sum()
    if n1 == 0 or n0 == 0:
        return 0.5
    return float((ranks[pos].sum() - n1 * (n1 + 1) / 2) / (n1 * n0))


class Prep:
    """Fits category maps and scaling on the training rows."""

    def __init__(self, df, target):
        cols = [c for c in df.columns if c != target]
        self.cat = [c for c in cols if not pd.api.types.is_numeric_dtype(df[c])]
        self.num = [c for c in cols if c not in self.cat]
        self.maps = {c: {v: i + 1 for i, v in enumerate(sorted(df[c].dropna().unique()))} for c in self.cat}
        self.mean = df[self.num].mean()
        self.std = df[self.num].std().replace(0, 1)

    def __call__(self, df):
        num = ((df[self.num] - self.mean) / self.std).fillna(0).to_numpy(np.float32)
        if self.cat:
            cat = np.stack([df[c].map(self.maps[c]).fillna(0).to_numpy(np.int64) for c in self.cat], 1)
        else:
            cat = np.zeros((len(df), 0), np.int64)
        return torch.from_numpy(num), torch.from_numpy(cat)

    @property
    def cardinalities(self):
        return [len(self.maps[c]) + 1 for c in self.cat]


class TabularNet(nn.Module):
    def __init__(self, n_num, cards, hidden=(256, 128), dropout=0.3):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(c, min(50, (c + 1) // 2)) for c in cards)
        width = n_num + sum(e.embedding_dim for e in self.emb)
        layers = []
        for h in hidden:
            layers += [nn.Linear(width, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(dropout)]
            width = h
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, num, cat):
        parts = [num] + [e(cat[:, k]) for k, e in enumerate(self.emb)]
        return self.net(torch.cat(parts, 1)).squeeze(1)


@torch.no_grad()
def predict(model, loader, device):
    model.eval()
    out = [torch.sigmoid(model(n.to(device), c.to(device))).cpu() for n, c, _ in loader]
    return torch.cat(out).numpy()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--csv", default="churn.csv")
    p.add_argument("--target", default="churned")
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--patience", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--out", default="churn.pkl")
    args = p.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    df = pd.read_csv(args.csv).sample(frac=1, random_state=args.seed).reset_index(drop=True)
    n = len(df)
    parts = {"train": df[:int(0.7 * n)], "val": df[int(0.7 * n):int(0.85 * n)], "test": df[int(0.85 * n):]}
    prep = Prep(parts["train"], args.target)

    loaders = {}
    for name, part in parts.items():
        num, cat = prep(part)
        y = torch.tensor(part[args.target].to_numpy(np.float32))
        loaders[name] = DataLoader(TensorDataset(num, cat, y), args.batch_size, shuffle=name == "train",
                                   drop_last=name == "train")
    truth = {k: v[args.target].to_numpy(np.float32) for k, v in parts.items()}

    model = TabularNet(len(prep.num), prep.cardinalities).to(device)
    pos = truth["train"].mean()
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor((1 - pos) / max(pos, 1e-6), device=device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)

    best_auc, best_state, bad = 0.0, copy.deepcopy(model.state_dict()), 0
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for num, cat, y in loaders["train"]:
            num, cat, y = num.to(device), cat.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(num, cat), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        val_auc = auc(truth["val"], predict(model, loaders["val"], device))
        print(f"epoch {epoch:3d} loss {total / len(loaders['train']):.4f} val auc {val_auc:.4f}")
        if val_auc > best_auc:
            best_auc, best_state, bad = val_auc, copy.deepcopy(model.state_dict()), 0
        else:
            bad += 1
            if bad >= args.patience:
                print("early stop")
                break

    model.load_state_dict(best_state)
    again = auc(truth["val"], predict(model, loaders["val"], device))
    test_auc = auc(truth["test"], predict(model, loaders["test"], device))
    print(f"restored: val auc {again:.4f} test auc {test_auc:.4f}")
    with open(args.out, "wb") as f:
        pickle.dump({"prep": prep, "config": copy.copy(vars(args)),
                     "state": {k: v.cpu() for k, v in model.state_dict().items()}}, f)


if __name__ == "__main__":
    main()
