import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, default=400)
parser.add_argument("--classes", type=int, default=4)
parser.add_argument("--p-in", type=float, default=0.05)
parser.add_argument("--p-out", type=float, default=0.008)
parser.add_argument("--feat", type=int, default=32)
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--dropout", type=float, default=0.5)
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--patience", type=int, default=40)
parser.add_argument("--per-class", type=int, default=10)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
torch.manual_seed(args.seed)


def stochastic_block_model():
    y = torch.randint(args.classes, (args.nodes,))
    same = y[:, None] == y[None]
    prob = torch.where(same, args.p_in, args.p_out)
    adj = (torch.rand_like(prob) < prob).float().triu(1)
    adj = adj + adj.t() + torch.eye(args.nodes)
    inv = adj.sum(1).rsqrt()
    x = torch.randn(args.nodes, args.feat) + 0.4 * F.one_hot(y, args.feat).float()
    return x, (inv[:, None] * adj * inv[None]).to_sparse(), y


def masks(y):
    perm = torch.randperm(args.nodes)
    train = torch.zeros(args.nodes, dtype=torch.bool)
    for c in range(args.classes):
        train[perm[y[perm] == c][: args.per_class]] = True
    rest = perm[~train[perm]]
    val, test = torch.zeros_like(train), torch.zeros_like(train)
    val[rest[: len(rest) // 3]] = True
    test[rest[len(rest) // 3 :]] = True
    return train, val, test


class GCN(nn.Module):
    def __init__(self, i, h, o, p):
        super().__init__()
        self.w1, self.w2 = nn.Linear(i, h), nn.Linear(h, o)
        self.drop = nn.Dropout(p)

    def forward(self, x, a):
        h = F.relu(torch.sparse.mm(a, self.w1(self.drop(x))))
        return torch.sparse.mm(a, self.w2(self.drop(h)))


x, a, y = stochastic_block_model()
train_mask, val_mask, test_mask = masks(y)
model = GCN(args.feat, args.hidden, args.classes, args.dropout)
optimizer = torch.optim.Adam(
    [
        {"params": model.w1.parameters(), "weight_decay": 5e-4},
        {"params": model.w2.parameters(), "weight_decay": 0.0},
    ],
    lr=0.01,
)


@torch.no_grad()
def test():
    model.eval()
    out = model(x, a)
    val_loss = F.cross_entropy(out[val_mask], y[val_mask]).item()
    hit = out.argmax(1) == y
    return val_loss, [hit[m].float().mean().item() for m in (train_mask, val_mask, test_mask)]


best, best_accs, waited = float("inf"), None, 0
for epoch in range(1, args.epochs + 1):
    model.train()
    optimizer.zero_grad()
    out = model(x, a)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()

    val_loss, accs = test()
    if val_loss < best:
        best, best_accs, waited = val_loss, accs, 0
        torch.save(model.state_dict(), "gcn.pt")
    else:
        waited += 1
    if epoch % 20 == 0:
        print(f"epoch {epoch:03d} loss {loss.item():.4f} val {val_loss:.4f} "
              + " ".join(f"{v:.3f}" for v in accs))
    if waited >= args.patience:
        break

print("best train/val/test", best_accs)
