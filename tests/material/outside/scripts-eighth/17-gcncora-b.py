"""Two-layer GCN for node classification, no PyG needed.

Expects cora.content (id, 1433 binary features, class) and cora.cites in --data.
"""
import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def load_cora(path):
    raw = np.genfromtxt(os.path.join(path, "cora.content"), dtype=str)
    ids = {k: i for i, k in enumerate(raw[:, 0])}
    x = raw[:, 1:-1].astype(np.float32)
    classes = sorted(set(raw[:, -1]))
    y = np.array([classes.index(c) for c in raw[:, -1]])
    edges = []
    with open(os.path.join(path, "cora.cites")) as f:
        for line in f:
            a, b = line.split()
            if a in ids and b in ids:
                edges.append((ids[a], ids[b]))
    x = x / np.maximum(x.sum(1, keepdims=True), 1)
    return torch.from_numpy(x), torch.from_numpy(y), torch.tensor(edges).t(), classes


def normalised_adjacency(edges, n):
    idx = torch.cat([edges, edges.flip(0), torch.arange(n).repeat(2, 1)], dim=1)
    idx = torch.unique(idx, dim=1)
    deg = torch.bincount(idx[0], minlength=n).float()
    val = deg[idx[0]].rsqrt() * deg[idx[1]].rsqrt()
    return torch.sparse_coo_tensor(idx, val, (n, n)).coalesce()


class GraphConv(nn.Module):
    def __init__(self, din, dout):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(din, dout))
        self.bias = nn.Parameter(torch.zeros(dout))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, din, hidden, dout, dropout):
        super().__init__()
        self.g1 = GraphConv(din, hidden)
        self.g2 = GraphConv(hidden, dout)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, self.training)
        x = F.relu(self.g1(x, adj))
        x = F.dropout(x, self.dropout, self.training)
        return self.g2(x, adj)


def split(y, per_class, n_val, n_test, seed):
    g = torch.Generator().manual_seed(seed)
    perm = torch.randperm(len(y), generator=g)
    train = torch.cat([perm[y[perm] == c][:per_class] for c in y.unique()])
    rest = perm[~torch.isin(perm, train)]
    return train, rest[:n_val], rest[n_val:n_val + n_test]


@torch.no_grad()
def accuracy(model, x, adj, y, idx):
    model.eval()
    return (model(x, adj)[idx].argmax(1) == y[idx]).float().mean().item()


def run(args, seed, data):
    torch.manual_seed(seed)
    x, y, adj, classes = data
    train, val, test = split(y, args.per_class, args.n_val, args.n_test, seed)
    model = GCN(x.size(1), args.hidden, len(classes), args.dropout)
    optimizer = torch.optim.Adam([
        {"params": model.g1.parameters(), "weight_decay": args.weight_decay},
        {"params": model.g2.parameters(), "weight_decay": 0.0},
    ], lr=args.lr)

    best_val, best_test, wait = 0.0, 0.0, 0
    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, adj)[train], y[train])
        loss.backward()
        optimizer.step()

        va = accuracy(model, x, adj, y, val)
        if va > best_val:
            best_val, best_test, wait = va, accuracy(model, x, adj, y, test), 0
        else:
            wait += 1
            if wait > args.patience:
                break
        if epoch % 20 == 0:
            print(f"  epoch {epoch:3d} loss {loss.item():.4f} val {va:.4f}")
    return best_val, best_test


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="cora")
    ap.add_argument("--hidden", type=int, default=16)
    ap.add_argument("--dropout", type=float, default=0.5)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--weight-decay", type=float, default=5e-4)
    ap.add_argument("--epochs", type=int, default=300)
    ap.add_argument("--patience", type=int, default=80)
    ap.add_argument("--per-class", type=int, default=20)
    ap.add_argument("--n-val", type=int, default=500)
    ap.add_argument("--n-test", type=int, default=1000)
    ap.add_argument("--runs", type=int, default=5)
    args = ap.parse_args()

    x, y, edges, classes = load_cora(args.data)
    adj = normalised_adjacency(edges, len(x))
    results = []
    for seed in range(args.runs):
        val, test = run(args, seed, (x, y, adj, classes))
        print(f"run {seed}: val {val:.4f} test {test:.4f}")
        results.append(test)
    print(f"test accuracy {np.mean(results):.4f} +- {np.std(results):.4f}")


if __name__ == "__main__":
    main()
