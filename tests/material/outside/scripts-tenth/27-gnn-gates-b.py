"""Node classification with learned feature-group gates (plain torch, sparse adjacency).

graph.npz: edges (2,E), x (N,F), y (N,), group (F,) int, train / val / test boolean masks
"""
import sys
from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Options:
    graph: str = "graph.npz"
    hidden: int = 64
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    sparsity: float = 0.02
    epochs: int = 300
    patience: int = 60
    seed: int = 0

    @classmethod
    def parse(cls, argv):
        known = {f.name: f.type for f in fields(cls)}
        opt = cls()
        for arg in argv:
            key, _, value = arg.lstrip("-").partition("=")
            if key not in known:
                raise SystemExit(f"unknown option {key}")
            setattr(opt, key, known[key](value))
        return opt


def normalized_adjacency(edges, n):
    loops = torch.arange(n).repeat(2, 1)
    e = torch.cat([edges, edges.flip(0), loops], dim=1)
    e = torch.unique(e, dim=1)
    deg = torch.bincount(e[0], minlength=n).float()
    w = deg[e[0]].rsqrt() * deg[e[1]].rsqrt()
    return torch.sparse_coo_tensor(e, w, (n, n)).coalesce()


class GroupGates(nn.Module):
    """One scalar gate per group of input features."""

    def __init__(self, group):
        super().__init__()
        self.register_buffer("group", group)
        self.n = int(group.max()) + 1
        self.logits = nn.ParameterList(nn.Parameter(torch.tensor(1.0)) for _ in range(self.n))

    def values(self):
        return [torch.sigmoid(4 * g) for g in self.logits]

    def forward(self, x):
        return x * torch.stack(self.values())[self.group]

    def penalty(self):
        return torch.tensor([g for g in self.values()]).sum()


class GCN(nn.Module):
    def __init__(self, group, n_in, hidden, n_out, dropout):
        super().__init__()
        self.gates = GroupGates(group)
        self.w1 = nn.Linear(n_in, hidden, bias=False)
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = nn.Linear(hidden, n_out, bias=False)
        self.b2 = nn.Parameter(torch.zeros(n_out))
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.dropout(self.gates(x), self.dropout, self.training)
        h = F.relu(torch.sparse.mm(adj, self.w1(x)) + self.b1)
        h = F.dropout(h, self.dropout, self.training)
        return torch.sparse.mm(adj, self.w2(h)) + self.b2


@torch.no_grad()
def accuracy(model, x, adj, y, masks):
    model.eval()
    pred = model(x, adj).argmax(1)
    return {k: (pred[m] == y[m]).float().mean().item() for k, m in masks.items()}


def main():
    opt = Options.parse(sys.argv[1:])
    torch.manual_seed(opt.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    blob = np.load(opt.graph)
    x = torch.from_numpy(blob["x"]).float().to(device)
    y = torch.from_numpy(blob["y"]).long().to(device)
    adj = normalized_adjacency(torch.from_numpy(blob["edges"]).long(), len(x)).to(device)
    masks = {k: torch.from_numpy(blob[k]).bool().to(device) for k in ("train", "val", "test")}
    group = torch.from_numpy(blob["group"]).long()

    model = GCN(group, x.shape[1], opt.hidden, int(y.max()) + 1, opt.dropout).to(device)
    gate_params = list(model.gates.parameters())
    gate_ids = {id(p) for p in gate_params}
    optimizer = torch.optim.Adam([
        {"params": [p for p in model.parameters() if id(p) not in gate_ids], "weight_decay": opt.weight_decay},
        {"params": gate_params, "weight_decay": 0.0},
    ], lr=opt.lr)

    best, best_test, wait = 0.0, 0.0, 0
    for epoch in range(opt.epochs):
        model.train()
        optimizer.zero_grad()
        out = model(x, adj)
        ce = F.cross_entropy(out[masks["train"]], y[masks["train"]])
        penalty = model.gates.penalty().to(device)
        loss = ce + opt.sparsity * penalty
        loss.backward()
        optimizer.step()

        acc = accuracy(model, x, adj, y, masks)
        if epoch % 10 == 0:
            gates = " ".join(f"{g.item():.2f}" for g in model.gates.values())
            print(f"{epoch:4d} loss {loss.item():.4f} ce {ce.item():.4f} val {acc['val']:.4f} gates {gates}")
        if acc["val"] > best:
            best, best_test, wait = acc["val"], acc["test"], 0
            torch.save(model.state_dict(), "gcn_gates.pt")
        else:
            wait += 1
            if wait >= opt.patience:
                break
    print(f"best val {best:.4f} test {best_test:.4f}")


if __name__ == "__main__":
    main()
