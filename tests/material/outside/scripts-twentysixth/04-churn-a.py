"""Customer churn from a table. Categorical columns get embeddings, which are
trained for some epochs and then held fixed while the rest goes on."""
import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F

CATEGORICAL = ["plan", "region", "channel"]
NUMERIC = ["tenure", "monthly", "calls", "age"]
TARGET = "churned"


def read_table(path):
    df = pd.read_csv(path)
    cats, sizes = [], []
    for c in CATEGORICAL:
        codes, levels = pd.factorize(df[c], sort=True)
        cats.append(codes)
        sizes.append(len(levels))
    num = df[NUMERIC].to_numpy(dtype=np.float32)
    num = (num - num.mean(0)) / (num.std(0) + 1e-6)
    return (
        torch.tensor(np.stack(cats, 1)),
        torch.from_numpy(num.astype(np.float32)),
        torch.tensor(df[TARGET].to_numpy(dtype=np.float32)),
        sizes,
    )


class ChurnNet(nn.Module):
    def __init__(self, sizes, n_num, dim=6, hidden=48):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(s, dim) for s in sizes)
        self.mlp = nn.Sequential(
            nn.Linear(dim * len(sizes) + n_num, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, cat, num):
        parts = [e(cat[:, i]) for i, e in enumerate(self.embeddings)]
        return self.mlp(torch.cat(parts + [num], 1)).squeeze(1)


def batches(n, size, gen):
    order = torch.randperm(n, generator=gen)
    for i in range(0, n, size):
        yield order[i : i + size]


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/churn.csv")
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--freeze-at", type=int, default=4, help="epoch from which the embeddings are fixed")
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--weight-decay", type=float, default=0.1)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=3)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    cat, num, y, sizes = read_table(args.data)
    n_train = int(0.8 * len(y))
    perm = torch.randperm(len(y), generator=gen)
    tr, va = perm[:n_train], perm[n_train:]

    model = ChurnNet(sizes, num.shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    per_epoch = -(-n_train // args.batch_size)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=per_epoch * args.epochs)

    for epoch in range(args.epochs):
        if epoch == args.freeze_at:
            freeze(model.embeddings)
            print("embeddings fixed")
        model.train()
        total = 0.0
        for idx in batches(n_train, args.batch_size, gen):
            rows = tr[idx]
            optimizer.zero_grad(set_to_none=False)
            loss = F.binary_cross_entropy_with_logits(model(cat[rows], num[rows]), y[rows])
            loss.backward()
            live = [p for p in model.parameters() if p.requires_grad]
            nn.utils.clip_grad_norm_(live, args.clip)
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            logit = model(cat[va], num[va])
            vl = F.binary_cross_entropy_with_logits(logit, y[va]).item()
            acc = ((logit > 0).float() == y[va]).float().mean().item()
            emb = sum(e.weight.pow(2).sum() for e in model.embeddings).sqrt().item()
        print(f"epoch {epoch:2d} train {total / n_train:.4f} val {vl:.4f} acc {acc:.3f} |emb| {emb:.4f}")


if __name__ == "__main__":
    main()
