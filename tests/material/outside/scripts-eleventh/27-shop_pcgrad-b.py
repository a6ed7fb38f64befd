"""Multi-task conversion model (click / cart / buy) with PCGrad. Input: parquet with numeric columns n_*, id columns c_*."""
import argparse
import random

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

TASKS = ["click", "cart", "buy"]


def load_table(path, buckets):
    df = pd.read_parquet(path)
    num_cols = sorted(c for c in df.columns if c.startswith("n_"))
    cat_cols = sorted(c for c in df.columns if c.startswith("c_"))
    num = df[num_cols].to_numpy(np.float32)
    num = np.nan_to_num(np.sign(num) * np.log1p(np.abs(num)))
    cat = np.stack([pd.util.hash_array(df[c].astype(str).to_numpy(dtype=object)) % buckets for c in cat_cols], 1)
    y = np.array(df[TASKS], dtype=np.float32)
    n_val = len(df) // 10
    t = [torch.from_numpy(num), torch.from_numpy(cat.astype(np.int64)), torch.from_numpy(y)]
    mu, sd = t[0][:-n_val].mean(0), t[0][:-n_val].std(0) + 1e-6
    t[0] = (t[0] - mu) / sd
    return TensorDataset(*(a[:-n_val] for a in t)), TensorDataset(*(a[-n_val:] for a in t)), len(num_cols), len(cat_cols)


class SharedBottom(nn.Module):
    def __init__(self, n_num, n_cat, buckets, dim=16, hidden=256):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(buckets, dim) for _ in range(n_cat))
        self.bottom = nn.Sequential(nn.Linear(n_num + n_cat * dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Sequential(nn.Linear(hidden, 64), nn.ReLU(), nn.Linear(64, 1)) for t in TASKS})

    def shared_parameters(self):
        return list(self.embs.parameters()) + list(self.bottom.parameters())

    def forward(self, num, cat):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        h = self.bottom(torch.cat([num] + e, 1))
        return {t: self.heads[t](h).squeeze(1) for t in TASKS}


def project_conflicts(grads):
    """Project each task gradient onto the normal plane of the other tasks' gradients where they conflict."""
    norms = [g.dot(g) for g in grads]
    projected = [g.clone() for g in grads]
    for i, g in enumerate(projected):
        others = [j for j in range(len(grads)) if j != i]
        random.shuffle(others)
        for j in others:
            dot = g.dot(grads[j])
            if dot < 0:
                g.sub_(grads[j], alpha=(dot / norms[j].clamp(min=1e-12)).item())
    return torch.stack(projected).sum(0)


def pcgrad_backward(model, losses):
    shared = model.shared_parameters()
    flat = []
    for t in TASKS:
        own = list(model.heads[t].parameters())
        g = torch.autograd.grad(losses[t], shared + own, retain_graph=True)
        flat.append(torch.cat([x.reshape(-1) for x in g[:len(shared)]]))
        for p, x in zip(own, g[len(shared):]):
            p.grad = x.clone()
    merged = project_conflicts(flat)
    off = 0
    for p in shared:
        p.grad = merged[off:off + p.numel()].view_as(p).clone()
        off += p.numel()


def auc(score, y):
    order = torch.argsort(score)
    ranks = torch.empty_like(score)
    ranks[order] = torch.arange(1, len(score) + 1, dtype=score.dtype)
    pos = y > 0.5
    n1, n0 = pos.sum().item(), (~pos).sum().item()
    return float("nan") if n1 == 0 or n0 == 0 else ((ranks[pos].sum().item() - n1 * (n1 + 1) / 2) / (n1 * n0))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    scores, ys = {t: [] for t in TASKS}, []
    for num, cat, y in loader:
        out = model(num.to(device), cat.to(device))
        for t in TASKS:
            scores[t].append(out[t].double().cpu())
        ys.append(y)
    y = torch.cat(ys)
    return {t: auc(torch.cat(scores[t]), y[:, k]) for k, t in enumerate(TASKS)}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--parquet", required=True)
    ap.add_argument("--buckets", type=int, default=20000)
    ap.add_argument("--batch", type=int, default=1024)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--out", default="shop_mtl.pt")
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_ds, val_ds, n_num, n_cat = load_table(args.parquet, args.buckets)
    train_dl = DataLoader(train_ds, args.batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, 4096)
    model = SharedBottom(n_num, n_cat, args.buckets).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        sums = dict.fromkeys(TASKS, 0.0)
        for num, cat, y in train_dl:
            y = y.to(device)
            out = model(num.to(device), cat.to(device))
            losses = {t: F.binary_cross_entropy_with_logits(out[t], y[:, k]) for k, t in enumerate(TASKS)}
            optimizer.zero_grad()
            pcgrad_backward(model, losses)
            optimizer.step()
            for t in TASKS:
                sums[t] += losses[t].item()
        scores = evaluate(model, val_dl, device)
        print(f"epoch {epoch}", " ".join(f"{t}: loss {sums[t] / len(train_dl):.4f} auc {scores[t]:.4f}" for t in TASKS))
        mean = float(np.nanmean(list(scores.values())))
        if mean > best:
            best = mean
            torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
