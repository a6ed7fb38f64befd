"""Node classification: linear probe first, then fine-tune the graph encoder."""
import argparse
import json

import torch
import torch.nn as nn
import torch.nn.functional as F


def load_graph(path):
    with open(path) as f:
        d = json.load(f)
    n = len(d["x"])
    adj = torch.eye(n)
    for i, j in d["edges"]:
        adj[i, j] = adj[j, i] = 1.0
    deg = adj.sum(1).rsqrt()
    adj = deg[:, None] * adj * deg[None, :]
    return torch.tensor(d["x"]), adj, torch.tensor(d["y"]), torch.tensor(d["train"]), torch.tensor(d["val"])


class GCNEncoder(nn.Module):
    def __init__(self, d_in, d_hid):
        super().__init__()
        self.w1 = nn.Linear(d_in, d_hid)
        self.w2 = nn.Linear(d_hid, d_hid)

    def forward(self, x, adj):
        x = F.relu(self.w1(adj @ x))
        return F.relu(self.w2(adj @ x))


class NodeClassifier(nn.Module):
    def __init__(self, encoder, d_hid, n_classes):
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(d_hid, n_classes)
        self.frozen = False

    def freeze(self):
        self.frozen = True
        self.encoder.requires_grad_(False)

    def unfreeze(self):
        self.frozen = False
        self.encoder.requires_grad_(True)

    def forward(self, x, adj):
        with torch.no_grad():
            h = self.encoder(x, adj)
        return self.classifier(h)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--graph", default="data/graph.json")
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--unfreeze-at", type=int, default=15)
    ap.add_argument("--lr", type=float, default=2e-2)
    ap.add_argument("--encoder-lr", type=float, default=5e-3)
    args = ap.parse_args()

    torch.manual_seed(0)
    x, adj, y, tr, va = load_graph(args.graph)
    model = NodeClassifier(GCNEncoder(x.size(1), 16), 16, int(y.max()) + 1)
    model.freeze()
    opt = torch.optim.Adam(model.classifier.parameters(), lr=args.lr)

    for ep in range(args.epochs):
        if ep == args.unfreeze_at:
            model.unfreeze()
            opt.add_param_group({"params": list(model.encoder.parameters()), "lr": args.encoder_lr})
            print("encoder unfrozen")
        model.train()
        opt.zero_grad()
        loss = F.cross_entropy(model(x, adj)[tr], y[tr])
        loss.backward()
        opt.step()

        if (ep + 1) % 5 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(x, adj)
                acc = (pred[va].argmax(1) == y[va]).float().mean()
            print(f"{ep + 1:3d} loss {loss.item():.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
