"""Neural matrix factorisation on implicit feedback.

ratings.csv: user,item,rating,timestamp (the last interaction of each user is held out)
"""
import argparse
import logging

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger("neumf")


class NegativeSampling(Dataset):
    """Each positive comes with `k` freshly drawn unobserved items."""

    def __init__(self, users, items, n_items, k):
        self.users, self.items, self.n_items, self.k = users, items, n_items, k
        self.seen = set(zip(users.tolist(), items.tolist()))
        self.resample()

    def resample(self):
        n = len(self.users)
        neg = np.random.randint(0, self.n_items, size=(n, self.k))
        for r in range(n):
            for c in range(self.k):
                while (self.users[r], neg[r, c]) in self.seen:
                    neg[r, c] = np.random.randint(self.n_items)
        self.u = np.concatenate([self.users, np.repeat(self.users, self.k)])
        self.i = np.concatenate([self.items, neg.ravel()])
        self.y = np.concatenate([np.ones(n), np.zeros(n * self.k)]).astype(np.float32)

    def __len__(self):
        return len(self.u)

    def __getitem__(self, idx):
        return self.u[idx], self.i[idx], self.y[idx]


class NeuMF(nn.Module):
    def __init__(self, n_users, n_items, dim, layers, dropout):
        super().__init__()
        self.gmf_u, self.gmf_i = nn.Embedding(n_users, dim), nn.Embedding(n_items, dim)
        self.mlp_u, self.mlp_i = nn.Embedding(n_users, layers[0] // 2), nn.Embedding(n_items, layers[0] // 2)
        mlp = []
        for a, b in zip(layers[:-1], layers[1:]):
            mlp += [nn.Dropout(dropout), nn.Linear(a, b), nn.ReLU()]
        self.mlp = nn.Sequential(*mlp)
        self.out = nn.Linear(dim + layers[-1], 1)
        for m in self.modules():
            if isinstance(m, nn.Embedding):
                nn.init.normal_(m.weight, std=0.01)

    def forward(self, u, i):
        g = self.gmf_u(u) * self.gmf_i(i)
        m = self.mlp(torch.cat([self.mlp_u(u), self.mlp_i(i)], 1))
        return self.out(torch.cat([g, m], 1)).squeeze(1)


def read(path):
    df = pd.read_csv(path)
    df["user"] = df["user"].astype("category").cat.codes
    df["item"] = df["item"].astype("category").cat.codes
    df = df.drop_duplicates(["user", "item"]).sort_values("timestamp")
    last = df.groupby("user").tail(1)
    train = df.drop(last.index)
    return train, last, int(df.user.max()) + 1, int(df.item.max()) + 1


@torch.no_grad()
def hit_ratio(model, held_out, seen, n_items, device, n_neg=99, k=10):
    model.eval()
    rng = np.random.default_rng(0)
    hits = ndcg = 0.0
    for u, target in held_out:
        cand = [target]
        while len(cand) < n_neg + 1:
            j = int(rng.integers(n_items))
            if (u, j) not in seen and j != target:
                cand.append(j)
        items = torch.tensor(cand, device=device)
        users = torch.full_like(items, u)
        rank = int((model(users, items)[1:] >= model(users, items)[0]).sum())
        if rank < k:
            hits += 1
            ndcg += 1 / np.log2(rank + 2)
    return hits / len(held_out), ndcg / len(held_out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ratings", default="ratings.csv")
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch-size", type=int, default=1024)
    ap.add_argument("--negatives", type=int, default=4)
    ap.add_argument("--dim", type=int, default=16)
    ap.add_argument("--layers", type=int, nargs="+", default=[64, 32, 16])
    ap.add_argument("--dropout", type=float, default=0.3)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--eval-negatives", type=int, default=99)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    np.random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train, last, n_users, n_items = read(args.ratings)
    data = NegativeSampling(train.user.to_numpy().astype(np.int64), train.item.to_numpy().astype(np.int64),
                            n_items, args.negatives)
    held_out = list(zip(last.user.astype(int), last.item.astype(int)))
    model = NeuMF(n_users, n_items, args.dim, args.layers, args.dropout).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.BCEWithLogitsLoss()

    best = 0.0
    for epoch in range(args.epochs):
        data.resample()
        loader = DataLoader(data, args.batch_size, shuffle=True)
        model.train()
        total = 0.0
        for u, i, y in loader:
            u, i, y = u.to(device), i.to(device), y.to(device)
            opt.zero_grad()
            loss = criterion(model(u, i), y)
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        hr, ndcg = hit_ratio(model, held_out, data.seen, n_items, device, args.eval_negatives)
        logger.info("epoch %d loss %.4f HR@10 %.4f NDCG@10 %.4f", epoch, total / len(data), hr, ndcg)
        if hr > best:
            best = hr
            torch.save(model.state_dict(), "neumf.pt")
    logger.info("best HR@10 %.4f", best)


if __name__ == "__main__":
    main()
