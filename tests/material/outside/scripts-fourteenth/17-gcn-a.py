# two-layer GCN written by hand, semi-supervised
import json
import torch
import torch.nn as nn
import torch.nn.functional as F


def normalized_adjacency(edges, n):
    A = torch.eye(n)
    for i, j in edges:
        A[i, j] = A[j, i] = 1.0
    d = A.sum(1).rsqrt()
    return d[:, None] * A * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(nfeat, nhid), GraphConv(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, self.training)
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def evaluate(model, x, adj, y, mask):
    model.eval()
    with torch.no_grad():
        out = model(x, adj)
        return F.nll_loss(out[mask], y[mask]).item(), (out[mask].argmax(1) == y[mask]).float().mean().item()


def main():
    torch.manual_seed(1)
    g = json.load(open("data/graph.json"))
    y = torch.tensor(g["labels"])
    x = torch.tensor(g["features"])
    x = (x - x.mean(0)) / x.std(0)
    n = len(y)
    adj = normalized_adjacency(g["edges"], n)
    perm = torch.randperm(n)
    tr, va, te = perm[:24], perm[24:60], perm[60:]

    model = GCN(x.size(1), 16, 3, 0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best_val, best_state = 1e9, None
    model.train()
    for epoch in range(120):
        optimizer.zero_grad()
        out = model(x, adj)
        loss = F.nll_loss(out[tr], y[tr])
        loss.backward()
        optimizer.step()

        vloss, vacc = evaluate(model, x, adj, y, va)
        if vloss < best_val:
            best_val = vloss
            best_state = {k: v.clone() for k, v in model.state_dict().items()}
        if epoch % 30 == 29:
            print(f"Epoch {epoch + 1:04d} loss_train {loss.item():.4f} loss_val {vloss:.4f} acc_val {vacc:.3f}")
    model.load_state_dict(best_state)
    print("test acc %.3f" % evaluate(model, x, adj, y, te)[1])


main()
