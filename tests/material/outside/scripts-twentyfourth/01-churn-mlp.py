"""Customer churn on the Telco table.

    python 01-churn-mlp.py --csv WA_Fn-UseC_-Telco-Customer-Churn.csv --out runs/churn.pt
"""
import argparse
import copy

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NUMERIC = ["tenure", "MonthlyCharges", "TotalCharges"]
CATEGORICAL = ["gender", "Partner", "InternetService", "Contract", "PaymentMethod"]
TARGET = "Churn"


def load_table(path):
    df = pd.read_csv(path)
    df["TotalCharges"] = pd.to_numeric(df["TotalCharges"], errors="coerce")
    df = df.dropna(subset=NUMERIC + [TARGET]).reset_index(drop=True)
    num = df[NUMERIC].to_numpy(np.float32)
    cats, sizes = [], []
    for c in CATEGORICAL:
        codes, uniques = pd.factorize(df[c], sort=True)
        cats.append(codes)
        sizes.append(len(uniques))
    y = (df[TARGET] == "Yes").to_numpy(np.float32)
    return num, np.stack(cats, 1).astype(np.int64), y, sizes


class ChurnNet(nn.Module):
    def __init__(self, n_num, sizes, emb=4, hidden=64, p=0.1):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(s, emb) for s in sizes])
        self.net = nn.Sequential(
            nn.Linear(n_num + emb * len(sizes), hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden // 2, 1),
        )

    def forward(self, num, cat):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        return self.net(torch.cat([num] + e, dim=1)).squeeze(1)


def auc(scores, labels):
    order = scores.argsort()
    ranks = torch.empty_like(scores)
    ranks[order] = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    pos = labels == 1
    n_pos, n_neg = pos.sum().item(), (~pos).sum().item()
    if n_pos == 0 or n_neg == 0:
        return float("nan")
    return (ranks[pos].sum().item() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)


@torch.no_grad()
def evaluate(model, loader, criterion, device):
    model.eval()
    scores, labels, total = [], [], 0.0
    for num, cat, y in loader:
        out = model(num.to(device), cat.to(device))
        total += criterion(out, y.to(device)).item() * len(y)
        scores.append(out.cpu())
        labels.append(y)
    scores, labels = torch.cat(scores), torch.cat(labels)
    return total / len(labels), auc(scores, labels)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--out", default="churn.pt")
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--patience", type=int, default=5)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    num, cat, y, sizes = load_table(args.csv)
    idx = np.random.default_rng(args.seed).permutation(len(y))
    cut = int(0.8 * len(idx))
    tr, va = idx[:cut], idx[cut:]
    mu, sd = num[tr].mean(0), num[tr].std(0) + 1e-6
    num = (num - mu) / sd

    def make(ix):
        return TensorDataset(torch.from_numpy(num[ix]), torch.from_numpy(cat[ix]), torch.from_numpy(y[ix]))

    train_dl = DataLoader(make(tr), batch_size=args.batch_size, shuffle=True)
    val_dl = DataLoader(make(va), batch_size=512)

    model = ChurnNet(len(NUMERIC), sizes).to(device)
    pos_weight = torch.tensor((y[tr] == 0).sum() / max((y[tr] == 1).sum(), 1), dtype=torch.float32, device=device)
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)

    best, best_state, bad = float("inf"), None, 0
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for xb, cb, yb in train_dl:
            xb, cb, yb = xb.to(device), cb.to(device), yb.to(device)
            optimizer.zero_grad()
            loss = criterion(model(xb, cb), yb)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(yb)
        val_loss, val_auc = evaluate(model, val_dl, criterion, device)
        print(f"epoch {epoch:02d}  train {running / len(tr):.4f}  val {val_loss:.4f}  auc {val_auc:.4f}")
        if val_loss < best:
            best, best_state, bad = val_loss, copy.deepcopy(model.state_dict()), 0
        else:
            bad += 1
            if bad >= args.patience:
                print("early stop")
                break

    torch.save({"model": best_state, "mean": mu, "std": sd, "sizes": sizes}, args.out)


if __name__ == "__main__":
    main()
