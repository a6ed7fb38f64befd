# House prices style competition: 5-fold MLP with entity embeddings.
#   python kfold_tabular.py --train train.csv --target price
# Every fold starts from a fresh model; the OOF rmse (on log target) is printed at the end
import argparse
import random

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def seed_everything(seed=42):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


def prepare(df, target):
    y = np.log1p(df[target].values.astype("float32"))
    feats = df.drop(columns=[target] + [c for c in ("id", "Id") if c in df.columns])
    cats = [c for c in feats.columns if not pd.api.types.is_numeric_dtype(feats[c])]
    nums = [c for c in feats.columns if c not in cats]
    Xc = np.stack([feats[c].fillna("NA").astype("category").cat.codes.values for c in cats], 1).astype("int64")
    Xn = feats[nums].fillna(feats[nums].median()).values.astype("float32")
    return Xc, Xn, y, [int(Xc[:, i].max()) + 1 for i in range(Xc.shape[1])]


def kfold(n, k, seed):
    idx = np.random.RandomState(seed).permutation(n)
    parts = np.array_split(idx, k)
    for i in range(k):
        yield np.concatenate([parts[j] for j in range(k) if j != i]), parts[i]


class TabMLP(nn.Module):
    def __init__(self, cards, n_num, hidden=256, p=0.2):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, min(32, (c + 1) // 2 + 1)) for c in cards])
        d = sum(e.embedding_dim for e in self.embs) + n_num
        self.body = nn.Sequential(
            nn.Linear(d, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, hidden // 2), nn.BatchNorm1d(hidden // 2), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden // 2, 1),
        )

    def forward(self, xc, xn):
        e = [emb(xc[:, i]) for i, emb in enumerate(self.embs)]
        return self.body(torch.cat(e + [xn], 1)).squeeze(1)


def train_epoch(model, loader, optimizer, scheduler, criterion, device):
    model.train()
    total, n = 0.0, 0
    for xc, xn, y in loader:
        xc, xn, y = xc.to(device), xn.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(xc, xn), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(y)
        n += len(y)
    return total / n


@torch.no_grad()
def predict(model, xc, xn, device, bs=4096):
    model.eval()
    out = []
    for i in range(0, len(xc), bs):
        out.append(model(xc[i:i + bs].to(device), xn[i:i + bs].to(device)).cpu())
    return torch.cat(out).numpy()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", default="train.csv")
    ap.add_argument("--target", default="price")
    ap.add_argument("--folds", type=int, default=5)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--bs", type=int, default=256)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--wd", type=float, default=1e-4)
    ap.add_argument("--seed", type=int, default=42)
    args = ap.parse_args()
    seed_everything(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    Xc, Xn, y, cards = prepare(pd.read_csv(args.train), args.target)
    oof = np.zeros(len(y), dtype="float32")
    criterion = nn.MSELoss()

    for fold, (tr, va) in enumerate(kfold(len(y), args.folds, args.seed)):
        # scale with the statistics of the training part only
        mu, sd = Xn[tr].mean(0), Xn[tr].std(0) + 1e-6
        Xs = torch.from_numpy((Xn - mu) / sd)
        C, T = torch.from_numpy(Xc), torch.from_numpy(y)
        shift = float(y[tr].mean())
        loader = DataLoader(TensorDataset(C[tr], Xs[tr], T[tr] - shift),
                            batch_size=args.bs, shuffle=True, drop_last=True)

        model = TabMLP(cards, Xn.shape[1]).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.wd)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=args.lr, total_steps=args.epochs * len(loader))

        best, best_pred = float("inf"), None
        for epoch in range(args.epochs):
            tr_loss = train_epoch(model, loader, optimizer, scheduler, criterion, device)
            pred = predict(model, C[va], Xs[va], device) + shift
            rmse = float(np.sqrt(np.mean((pred - y[va]) ** 2)))
            if rmse < best:
                best, best_pred = rmse, pred
                torch.save(model.state_dict(), f"tab_fold{fold}.pt")
            print(f"fold {fold} epoch {epoch:02d} train {tr_loss:.4f} rmse {rmse:.4f}")
        oof[va] = best_pred
        print(f"== fold {fold} best {best:.4f}")

    print("OOF rmse: %.5f" % np.sqrt(np.mean((oof - y) ** 2)))
    np.save("oof_tab.npy", oof)


if __name__ == "__main__":
    main()
