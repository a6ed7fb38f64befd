"""Two-tower recommender trained with BPR.

Item vectors come from a text encoder (item_vectors.npy, one row per item id) and are fine-tuned
together with the user embeddings and the projection. Rows are ratings.csv: user,item,rating,timestamp.
The last interaction of each user is held out.

    python recsys_content.py --ratings ratings.csv --item-vectors item_vectors.npy
"""
import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoTower(nn.Module):
    def __init__(self, n_users, item_vectors, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding.from_pretrained(item_vectors, freeze=False)
        self.item_proj = nn.Linear(item_vectors.shape[1], dim)
        self.item_bias = nn.Embedding(item_vectors.shape[0], 1)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.zeros_(self.item_bias.weight)

    def items(self, i):
        return self.item_proj(self.item(i))

    def score(self, u, i):
        return (self.user(u) * self.items(i)).sum(-1) + self.item_bias(i).squeeze(-1)

    def all_scores(self, u):
        return self.user(u) @ self.item_proj(self.item.weight).T + self.item_bias.weight.T


def load(path, min_rating):
    df = pd.read_csv(path)
    df = df[df["rating"] >= min_rating].sort_values(["user", "timestamp"])
    users = {u: k for k, u in enumerate(df["user"].unique())}
    df["u"] = df["user"].map(users)
    last = df.groupby("u").tail(1)
    train = df.drop(last.index)
    # a user with a single interaction has no training row
    return train[["u", "item"]].to_numpy(), last[["u", "item"]].to_numpy(), len(users)


def sample_negatives(users, seen, n_items, rng):
    neg = rng.integers(0, n_items, size=len(users))
    for _ in range(10):
        bad = np.fromiter(((int(u), int(i)) in seen for u, i in zip(users, neg)), bool, len(users))
        if not bad.any():
            break
        neg[bad] = rng.integers(0, n_items, size=bad.sum())
    return neg


@torch.no_grad()
def hit_rate(model, test, train, device, k=10):
    model.eval()
    by_user = {}
    for u, i in train:
        by_user.setdefault(int(u), []).append(int(i))
    hits = 0
    for start in range(0, len(test), 512):
        part = test[start:start + 512]
        scores = model.all_scores(torch.as_tensor(part[:, 0], device=device))
        for r, u in enumerate(part[:, 0]):
            scores[r, by_user.get(int(u), [])] = float("-inf")
        top = scores.topk(min(k, scores.size(1)), dim=1).indices.cpu().numpy()
        hits += (top == part[:, 1:2]).any(1).sum()
    return hits / len(test)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ratings", default="ratings.csv")
    ap.add_argument("--item-vectors", default="item_vectors.npy")
    ap.add_argument("--min-rating", type=float, default=4.0)
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=1024)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--vector-lr", type=float, default=2e-4, help="smaller rate for the text vectors")
    ap.add_argument("--reg", type=float, default=1e-4)
    ap.add_argument("--seed", type=int, default=2024)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train, test, n_users = load(args.ratings, args.min_rating)
    vectors = torch.from_numpy(np.load(args.item_vectors)).float()
    vectors = F.normalize(vectors, dim=1)
    n_items = len(vectors)
    seen = set(map(tuple, train.tolist()))

    model = TwoTower(n_users, vectors, args.dim).to(device)
    other = [p for n, p in model.named_parameters() if n != "item.weight"]
    optimizer = torch.optim.Adam([
        {"params": other, "lr": args.lr},
        {"params": [model.item.weight], "lr": args.vector_lr},
    ])

    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        order = rng.permutation(len(train))
        total = 0.0
        for start in range(0, len(order), args.batch_size):
            rows = train[order[start:start + args.batch_size]]
            neg = sample_negatives(rows[:, 0], seen, n_items, rng)
            u = torch.as_tensor(rows[:, 0], device=device)
            i = torch.as_tensor(rows[:, 1], device=device)
            j = torch.as_tensor(neg, device=device)
            bpr = -F.logsigmoid(model.score(u, i) - model.score(u, j)).mean()
            reg = (model.user(u) ** 2).sum(1).mean() + (model.items(i) ** 2).sum(1).mean()
            loss = bpr + args.reg * reg
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += bpr.item() * len(rows)
        hr = hit_rate(model, test, train, device)
        print(f"epoch {epoch} bpr {total / len(train):.4f} HR@10 {hr:.4f}")
        if hr > best:
            best = hr
            torch.save(model.state_dict(), "two_tower.pt")
    print("best HR@10", best)


if __name__ == "__main__":
    main()
