import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)

# ---- data: stochastic block model with noisy features ----
n_nodes, n_classes, n_feat = 300, 4, 16
y = np.random.randint(n_classes, size=n_nodes)
same = y[:, None] == y[None, :]
prob = np.where(same, 0.06, 0.01)
adj = np.triu(np.random.rand(n_nodes, n_nodes) < prob, 1)
adj = (adj | adj.T).astype(np.float32)
centers = np.random.randn(n_classes, n_feat)
x = (centers[y] * 0.5 + np.random.randn(n_nodes, n_feat)).astype(np.float32)

adj = adj + np.eye(n_nodes, dtype=np.float32)
d = adj.sum(1) ** -0.5
adj_norm = torch.from_numpy(d[:, None] * adj * d[None, :]).float()
x, y = torch.from_numpy(x), torch.from_numpy(y)
perm = torch.randperm(n_nodes)
idx_train, idx_val, idx_test = perm[:60], perm[60:140], perm[140:]


class GraphConv(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(fin, fout))
        self.bias = nn.Parameter(torch.zeros(fout))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, h, a):
        return a @ (h @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, fin, hidden, fout, depth=2, p=0.5):
        super().__init__()
        dims = [fin] + [hidden] * depth
        self.layers = [GraphConv(i, o) for i, o in zip(dims[:-1], dims[1:])]
        self.out = GraphConv(hidden, fout)
        self.p = p

    def forward(self, h, a):
        for layer in self.layers:
            h = F.dropout(F.relu(layer(h, a)), self.p, training=self.training)
        return self.out(h, a)


model = GCN(n_feat, 32, n_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def accuracy(logits, idx):
    return (logits[idx].argmax(1) == y[idx]).float().mean().item()


best_val, best_test, patience = 0.0, 0.0, 0
for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    logits = model(x, adj_norm)
    loss = F.cross_entropy(logits[idx_train], y[idx_train])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        logits = model(x, adj_norm)
    val = accuracy(logits, idx_val)
    if val > best_val:
        best_val, best_test, patience = val, accuracy(logits, idx_test), 0
    else:
        patience += 1
    if epoch % 20 == 0:
        print(f"Epoch {epoch:03d} loss {loss.item():.4f} train {accuracy(logits, idx_train):.3f} val {val:.3f}")
    if patience == 50:
        print("early stop")
        break

print(f"best val {best_val:.3f}, test {best_test:.3f}")
