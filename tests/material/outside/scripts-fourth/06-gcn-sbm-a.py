import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description='GCN / semi-supervised node classification')
parser.add_argument('--nodes', type=int, default=1200)
parser.add_argument('--classes', type=int, default=5)
parser.add_argument('--feat', type=int, default=64)
parser.add_argument('--hidden', type=int, default=32)
parser.add_argument('--dropout', type=float, default=0.5)
parser.add_argument('--lr', type=float, default=0.01)
parser.add_argument('--weight_decay', type=float, default=5e-4)
parser.add_argument('--epochs', type=int, default=200)
parser.add_argument('--patience', type=int, default=50)
parser.add_argument('--graph', default=None, help='.pt file with x, edge_index, y; else a random SBM')
parser.add_argument('--seed', type=int, default=0)
args = parser.parse_args()
torch.manual_seed(args.seed)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def make_sbm(n, k, f, p_in=0.02, p_out=0.002):
    y = torch.randint(0, k, (n,))
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    a = torch.triu(torch.rand(n, n) < prob, diagonal=1)
    a = a | a.t()
    centers = torch.randn(k, f)
    x = centers[y] * 0.5 + torch.randn(n, f)
    return x, a.nonzero().t().contiguous(), y


def norm_adj(edge_index, n):
    loops = torch.arange(n).repeat(2, 1)
    ei = torch.cat([edge_index, loops], dim=1)
    deg = torch.zeros(n).scatter_add_(0, ei[0], torch.ones(ei.size(1)))
    w = deg[ei[0]].rsqrt() * deg[ei[1]].rsqrt()
    return torch.sparse_coo_tensor(ei, w, (n, n)).coalesce()


class GCNConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=False)
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, self.lin(x)) + self.bias


class GCN(nn.Module):
    def __init__(self, f, h, c, dropout):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(f, h), GCNConv(h, c)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        x = F.relu(self.conv1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return self.conv2(x, adj)


if args.graph:
    blob = torch.load(args.graph)
    x, edge_index, y = blob['x'], blob['edge_index'], blob['y']
else:
    x, edge_index, y = make_sbm(args.nodes, args.classes, args.feat)
n = x.size(0)
perm = torch.randperm(n)
train_idx, val_idx, test_idx = perm[:n // 10], perm[n // 10: n // 4], perm[n // 4:]
adj = norm_adj(edge_index, n).to(device)
x, y = x.to(device), y.to(device)

model = GCN(x.size(1), args.hidden, int(y.max()) + 1, args.dropout).to(device)
# weight decay on the first layer only, as in the paper
optimizer = torch.optim.Adam([
    dict(params=model.conv1.parameters(), weight_decay=args.weight_decay),
    dict(params=model.conv2.parameters(), weight_decay=0.0),
], lr=args.lr)


def train():
    model.train()
    optimizer.zero_grad()
    out = model(x, adj)
    loss = F.cross_entropy(out[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()
    return float(loss)


@torch.no_grad()
def test():
    model.eval()
    pred = model(x, adj).argmax(-1)
    return [float((pred[i] == y[i]).float().mean()) for i in (train_idx, val_idx, test_idx)]


best_val, best_test, best_state, wait = 0.0, 0.0, None, 0
for epoch in range(1, args.epochs + 1):
    loss = train()
    tr, va, te = test()
    if va > best_val:
        best_val, best_test, wait = va, te, 0
        best_state = copy.deepcopy(model.state_dict())
    else:
        wait += 1
    if epoch % 10 == 0:
        print(f'{epoch:03d} loss {loss:.4f} train {tr:.3f} val {va:.3f} test {te:.3f}')
    if wait >= args.patience:
        print('early stop at', epoch)
        break
print(f'best val {best_val:.4f}, test {best_test:.4f}')
torch.save(best_state, 'gcn_best.pt')
