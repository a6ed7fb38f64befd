"""Adversarial personalised ranking (BPR-MF + embedding perturbation)

interactions.csv : user,item  (implicit feedback, ordered by time)
"""
import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F


class MF(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.U = nn.Embedding(n_users, dim)
        self.I = nn.Embedding(n_items, dim)
        nn.init.normal_(self.U.weight, std=0.05)
        nn.init.normal_(self.I.weight, std=0.05)

    def bpr(self, u, i, j, dU=None, dI=None):
        wu, wi = self.U.weight, self.I.weight
        if dU is not None:
            wu, wi = wu + dU, wi + dI
        eu, ei, ej = wu[u], wi[i], wi[j]
        return -F.logsigmoid((eu * (ei - ej)).sum(1)).mean()

    def l2(self, u, i, j):
        return (self.U(u) ** 2).sum(1).mean() + (self.I(i) ** 2).sum(1).mean() + (self.I(j) ** 2).sum(1).mean()


def read(path):
    df = pd.read_csv(path)
    u, users = pd.factorize(df["user"])
    i, items = pd.factorize(df["item"])
    df = pd.DataFrame({"u": u, "i": i}).drop_duplicates()
    last = ~df.duplicated("u", keep="last")
    enough = df.groupby("u")["i"].transform("size") > 2
    test = df[last & enough]
    train = df.drop(test.index)
    return train.to_numpy().copy(), test.to_numpy().copy(), len(users), len(items)


def sample_negatives(u, seen, n_items, rng):
    j = rng.integers(n_items, size=len(u))
    bad = seen[u, j]
    while bad.any():
        j[bad] = rng.integers(n_items, size=int(bad.sum()))
        bad = seen[u, j]
    return j


@torch.no_grad()
def hit_rate(model, test, seen, k, dev):
    u = torch.as_tensor(test[:, 0], device=dev)
    scores = model.U(u) @ model.I.weight.t()
    scores[torch.as_tensor(seen[test[:, 0]], device=dev)] = -float("inf")
    top = scores.topk(k, dim=1).indices.cpu().numpy()
    rank = top == test[:, 1:2]
    ndcg = (rank / np.log2(np.arange(2, k + 2))).sum(1).mean()
    return rank.any(1).mean(), ndcg


def perturbation(model, opt, u, i, j, eps):
    """Worst-case direction for the current batch (fast gradient, row-normalised)."""
    opt.zero_grad()
    model.bpr(u, i, j).backward()
    dU = eps * F.normalize(model.U.weight.grad, dim=1)
    dI = eps * F.normalize(model.I.weight.grad, dim=1)
    return dU, dI


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("csv")
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--adv-from", type=int, default=20, help="first epoch with adversarial term")
    ap.add_argument("--eps", type=float, default=0.5)
    ap.add_argument("--adv-weight", type=float, default=1.0)
    ap.add_argument("--reg", type=float, default=1e-3)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--k", type=int, default=10)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="apr.pt")
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, test, n_users, n_items = read(args.csv)
    seen = np.zeros((n_users, n_items), dtype=bool)
    seen[train[:, 0], train[:, 1]] = True
    print(f"{n_users} users {n_items} items {len(train)} train {len(test)} test")

    model = MF(n_users, n_items, args.dim).to(dev)
    opt = torch.optim.Adagrad(model.parameters(), lr=args.lr)

    for ep in range(args.epochs):
        adversarial = ep >= args.adv_from
        perm = rng.permutation(len(train))
        tot, n = 0.0, 0
        for s in range(0, len(perm), args.batch):
            rows = train[perm[s:s + args.batch]]
            neg = sample_negatives(rows[:, 0], seen, n_items, rng)
            u, i, j = (torch.as_tensor(a, device=dev) for a in (rows[:, 0], rows[:, 1], neg))

            if adversarial:
                dU, dI = perturbation(model, opt, u, i, j, args.eps)
            loss = model.bpr(u, i, j) + args.reg * model.l2(u, i, j)
            if adversarial:
                loss = loss + args.adv_weight * model.bpr(u, i, j, dU, dI)
            loss.backward()
            opt.step()
            opt.zero_grad()
            tot += loss.item() * len(rows)
            n += len(rows)

        if (ep + 1) % 5 == 0 or ep == args.epochs - 1:
            hr, ndcg = hit_rate(model, test, seen, args.k, dev)
            print(f"epoch {ep + 1:3d} loss {tot / n:.4f} HR@{args.k} {hr:.4f} NDCG {ndcg:.4f} "
                  f"{'adv' if adversarial else 'bpr'}")
    torch.save({"model": model.state_dict(), "args": vars(args)}, args.out)


if __name__ == "__main__":
    main()
