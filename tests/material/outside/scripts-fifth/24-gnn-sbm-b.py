import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def block_graph(nodes, classes, p_in, p_out, feat, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (nodes,), generator=g)
    same = y[:, None] == y[None]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu(torch.rand(nodes, nodes, generator=g) < prob, 1)
    src, dst = upper.nonzero(as_tuple=True)
    edge = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    centers = torch.randn(classes, feat, generator=g)
    x = 0.4 * centers[y] + torch.randn(nodes, feat, generator=g)
    perm = torch.randperm(nodes, generator=g)
    split = {"train": perm[:nodes // 5], "val": perm[nodes // 5:2 * nodes // 5], "test": perm[2 * nodes // 5:]}
    return x, edge, y, split


class SAGELayer(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.own, self.nbr = nn.Linear(cin, cout), nn.Linear(cin, cout, bias=False)

    def forward(self, x, edge):
        src, dst = edge
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        deg = torch.zeros(x.size(0), 1, device=x.device).index_add_(0, dst, torch.ones(len(dst), 1, device=x.device))
        return self.own(x) + self.nbr(agg / deg.clamp(min=1))


class GraphSAGE(nn.Module):
    def __init__(self, feat, hidden, classes, depth, dropout, device):
        super().__init__()
        dims = [feat] + [hidden] * depth
        self.layers = nn.ModuleList([SAGELayer(a, b).to(device) for a, b in zip(dims[:-1], dims[1:])])
        self.norms = nn.ModuleList([nn.LayerNorm(hidden) for _ in range(depth)])
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, classes)
        self.to(device)

    def forward(self, x, edge):
        for layer, norm in zip(self.layers, self.norms):
            x = self.dropout(F.relu(norm(layer(x, edge))))
        return self.out(x)


def accuracy(logits, y, idx):
    return (logits[idx].argmax(1) == y[idx]).float().mean().item()


def run(args, seed):
    torch.manual_seed(seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, edge, y, split = block_graph(args.nodes, args.classes, args.p_in, args.p_out, args.features, seed)
    x, edge, y = x.to(device), edge.to(device), y.to(device)
    model = GraphSAGE(args.features, args.hidden, args.classes, args.depth, args.dropout, device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    best_val = best_test = 0.0
    for epoch in range(1, args.epochs + 1):
        model.train()
        opt.zero_grad()
        loss = F.cross_entropy(model(x, edge)[split["train"]], y[split["train"]])
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            logits = model(x, edge)
        val = accuracy(logits, y, split["val"])
        if val > best_val:
            best_val, best_test = val, accuracy(logits, y, split["test"])
        if epoch % args.print_every == 0:
            print(f"seed {seed} epoch {epoch:4d} loss {loss.item():.4f} val {val:.3f} best test {best_test:.3f}")
    return best_test


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--nodes", type=int, default=1500)
    p.add_argument("--classes", type=int, default=5)
    p.add_argument("--features", type=int, default=32)
    p.add_argument("--p-in", type=float, default=0.02)
    p.add_argument("--p-out", type=float, default=0.004)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--depth", type=int, default=3)
    p.add_argument("--dropout", type=float, default=0.4)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--weight-decay", type=float, default=5e-4)
    p.add_argument("--epochs", type=int, default=200)
    p.add_argument("--print-every", type=int, default=20)
    p.add_argument("--runs", type=int, default=3)
    a = p.parse_args()
    scores = torch.tensor([run(a, s) for s in range(a.runs)])
    print(f"test accuracy {scores.mean():.4f} +- {scores.std(unbiased=False):.4f}")
