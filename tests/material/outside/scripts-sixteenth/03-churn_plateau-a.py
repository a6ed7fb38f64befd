# Churn prediction baseline (Kaggle style). AUC is the competition metric.
import os
import sys
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class CFG:
    train_csv = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "churn.csv")
    target = "churned"
    epochs = 14
    bs = 32
    lr = 3e-3
    wd = 1e-4
    hidden = 64
    drop = 0.1
    patience = 1
    factor = 0.3
    device = "cuda" if torch.cuda.is_available() else "cpu"


if len(sys.argv) > 1:
    CFG.train_csv = sys.argv[1]


class TabDS(Dataset):
    def __init__(self, df, cols):
        self.x = df[cols].to_numpy(np.float32)
        self.y = df[CFG.target].to_numpy(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class MLP(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(
            nn.BatchNorm1d(n_in),
            nn.Linear(n_in, CFG.hidden), nn.SiLU(), nn.Dropout(CFG.drop),
            nn.Linear(CFG.hidden, CFG.hidden), nn.SiLU(), nn.Dropout(CFG.drop),
            nn.Linear(CFG.hidden, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


def auc(y, s):
    order = np.argsort(s)
    ranks = np.empty(len(s))
    ranks[order] = np.arange(1, len(s) + 1)
    n1 = y.sum()
    n0 = len(y) - n1
    return (ranks[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)


def train_fn(model, loader, opt, crit):
    model.train()
    losses = []
    for x, y in loader:
        x, y = x.to(CFG.device), y.to(CFG.device)
        loss = crit(model(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    return np.mean(losses)


def valid_fn(model, loader):
    model.eval()
    preds, ys = [], []
    with torch.no_grad():
        for x, y in loader:
            preds.append(torch.sigmoid(model(x.to(CFG.device))).cpu().numpy())
            ys.append(y.numpy())
    return auc(np.concatenate(ys), np.concatenate(preds))


df = pd.read_csv(CFG.train_csv)
cols = [c for c in df.columns if c != CFG.target]
idx = np.random.permutation(len(df))
va, tr = df.iloc[idx[:160]], df.iloc[idx[160:]]
train_dl = DataLoader(TabDS(tr, cols), batch_size=CFG.bs, shuffle=True)
valid_dl = DataLoader(TabDS(va, cols), batch_size=256)

model = MLP(len(cols)).to(CFG.device)
opt = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=CFG.wd)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=CFG.factor, patience=CFG.patience)
crit = nn.BCEWithLogitsLoss()

best = 0.0
for ep in range(CFG.epochs):
    tl = train_fn(model, train_dl, opt, crit)
    score = valid_fn(model, valid_dl)
    sched.step(score)
    best = max(best, score)
    print(f"ep {ep:02d}  train {tl:.4f}  auc {score:.4f}  lr {opt.param_groups[0]['lr']:.2e}")
print(f"best auc {best:.4f}")
