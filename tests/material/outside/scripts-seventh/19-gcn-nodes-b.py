"""Deep residual GCN for node classification on a stochastic block model with noisy features."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def block_model(n_nodes, n_classes, p_in, p_out, n_feat, noise, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(n_classes, (n_nodes,), generator=g)
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu(torch.rand(n_nodes, n_nodes, generator=g) < prob, diagonal=1)
    src, dst = upper.nonzero(as_tuple=True)
    edge = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    proto = torch.randn(n_classes, n_feat, generator=g)
    x = proto[y] + noise * torch.randn(n_nodes, n_feat, generator=g)
    return x, edge, y


def normalised_adjacency(edge, n):
    """D^-1/2 (A + I) D^-1/2 as a sparse tensor"""
    loops = torch.arange(n).repeat(2, 1)
    idx = torch.cat([edge, loops], 1)
    deg = torch.bincount(idx[0], minlength=n).float()
    w = deg[idx[0]].rsqrt() * deg[idx[1]].rsqrt()
    return torch.sparse_coo_tensor(idx, w, (n, n)).coalesce()


class GCNLayer(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(d_out))
        bound = 1 / math.sqrt(d_out)
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, x @ self.weight) + self.bias


class ResGCN(nn.Module):
    """in-projection, `depth` residual graph convolutions, classifier; all trained"""

    def __init__(self, n_feat, hidden, n_classes, depth, dropout):
        super().__init__()
        self.dropout = dropout
        self.inp = nn.Linear(n_feat, hidden)
        self.convs = nn.ModuleList([GCNLayer(hidden, hidden) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(hidden) for _ in range(depth)])
        self.out = nn.Linear(hidden, n_classes)

    def forward(self, x, adj):
        h = F.relu(self.inp(x))
        for conv, norm in zip(self.convs, self.norms):
            z = F.dropout(F.relu(conv(norm(h), adj)), self.dropout, self.training)
            h = h + z
        return self.out(h)


def accuracy(logits, y, mask):
    return (logits[mask].argmax(1) == y[mask]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nodes", type=int, default=1500)
    ap.add_argument("--classes", type=int, default=5)
    ap.add_argument("--p_in", type=float, default=0.02)
    ap.add_argument("--p_out", type=float, default=0.004)
    ap.add_argument("--features", type=int, default=32)
    ap.add_argument("--noise", type=float, default=4.0)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--depth", type=int, default=4)
    ap.add_argument("--dropout", type=float, default=0.3)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--weight_decay", type=float, default=5e-4)
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    x, edge, y = block_model(args.nodes, args.classes, args.p_in, args.p_out, args.features, args.noise, args.seed)
    adj = normalised_adjacency(edge, args.nodes)
    perm = torch.randperm(args.nodes)
    n_tr, n_va = int(0.1 * args.nodes), int(0.2 * args.nodes)
    train, val, test = perm[:n_tr], perm[n_tr:n_tr + n_va], perm[n_tr + n_va:]

    model = ResGCN(args.features, args.hidden, args.classes, args.depth, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    print("edges", edge.size(1) // 2, "trainable tensors", len(optimizer.param_groups[0]["params"]))

    best_val = best_test = 0.0
    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        logits = model(x, adj)
        loss = F.cross_entropy(logits[train], y[train])
        loss.backward()
        optimizer.step()

        model.eval()
        with torch.no_grad():
            logits = model(x, adj)
        va, te = accuracy(logits, y, val), accuracy(logits, y, test)
        if va > best_val:
            best_val, best_test = va, te
            torch.save(model.state_dict(), "gcn.pt")
        if epoch % 10 == 0:
            print(f"epoch {epoch:3d} loss {loss.item():.4f} val {va:.3f} test {te:.3f}")
    print(f"best val {best_val:.3f}, test there {best_test:.3f}")


if __name__ == "__main__":
    main()
