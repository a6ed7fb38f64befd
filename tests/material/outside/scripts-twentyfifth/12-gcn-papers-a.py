# Semi-supervised node classification, two layer GCN (Kipf & Welling), dense-free version
# usage: python gcn.py [path to npz]
import copy
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

path = sys.argv[1] if len(sys.argv) > 1 else "data/papers.npz"
HIDDEN, DROPOUT, LR, WD, EPOCHS, PATIENCE = 32, 0.6, 0.01, 5e-4, 200, 60
torch.manual_seed(0)

raw = np.load(path)
features = torch.from_numpy(raw["features"]).float()
labels = torch.from_numpy(raw["labels"]).long()
edges = torch.from_numpy(raw["edges"]).long()
idx_train, idx_val, idx_test = (torch.from_numpy(raw[k]).long() for k in ("train_idx", "val_idx", "test_idx"))
n, d = features.shape
num_classes = int(labels.max()) + 1
features = features / features.sum(1, keepdim=True).clamp(min=1)


def normalized_adjacency(edges, n):
    loops = torch.arange(n).repeat(2, 1).t()
    e = torch.cat([edges, edges.flip(1), loops]).t()
    deg = torch.zeros(n).index_add_(0, e[0], torch.ones(e.size(1)))
    inv = deg.rsqrt()
    return torch.sparse_coo_tensor(e, inv[e[0]] * inv[e[1]], (n, n)).coalesce()


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(d_out))
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, self.lin(x)) + self.bias


class GCN(nn.Module):
    def __init__(self, d_in, hidden, d_out, dropout):
        super().__init__()
        self.gc1 = GraphConv(d_in, hidden)
        self.gc2 = GraphConv(hidden, d_out)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return self.gc2(x, adj)


adj = normalized_adjacency(edges, n)
model = GCN(d, HIDDEN, num_classes, DROPOUT)
optimizer = torch.optim.Adam([
    {"params": model.gc1.parameters(), "weight_decay": WD},
    {"params": model.gc2.parameters(), "weight_decay": 0.0},
], lr=LR)
print(f"{n} nodes, {edges.size(0)} edges, {d} features, {num_classes} classes, "
      f"{sum(p.numel() for p in model.parameters())} parameters")


def accuracy(logits, idx):
    return (logits[idx].argmax(1) == labels[idx]).float().mean().item()


@torch.no_grad()
def evaluate():
    model.eval()
    logits = model(features, adj)
    return {
        "val_loss": F.cross_entropy(logits[idx_val], labels[idx_val]).item(),
        "val_acc": accuracy(logits, idx_val),
        "test_acc": accuracy(logits, idx_test),
    }


best = {"val_loss": float("inf")}
best_state, since = None, 0
history = []

model.train()
for epoch in range(EPOCHS):
    optimizer.zero_grad()
    logits = model(features, adj)
    loss = F.cross_entropy(logits[idx_train], labels[idx_train])
    loss.backward()
    optimizer.step()

    metrics = evaluate()
    history.append((loss.item(), metrics["val_loss"], metrics["val_acc"]))
    if metrics["val_loss"] < best["val_loss"]:
        best = dict(metrics, epoch=epoch)
        best_state = copy.deepcopy(model.state_dict())
        since = 0
    else:
        since += 1
    if epoch % 20 == 0:
        print(f"epoch {epoch:3d} train_loss {loss.item():.4f} val_loss {metrics['val_loss']:.4f} "
              f"val_acc {metrics['val_acc']:.4f}")
    if since >= PATIENCE:
        print(f"stopping at epoch {epoch}")
        break

model.load_state_dict(best_state)
final = evaluate()
print(f"best epoch {best['epoch']} val_acc {final['val_acc']:.4f} test_acc {final['test_acc']:.4f}")
np.savetxt("gcn_history.csv", np.array(history), delimiter=",", header="train_loss,val_loss,val_acc", comments="")
torch.save(best_state, "gcn_best.pt")
