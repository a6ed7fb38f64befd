# message passing for molecule property regression, plain torch (no PyG)
import argparse
import pickle
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


# graphs.pkl: list of dict(x=[n][f], edges=[[i, j], ...], y=float)
def load_graphs(path):
    with open(path, "rb") as f:
        raw = pickle.load(f)
    out = []
    for g in raw:
        x = torch.as_tensor(g["x"], dtype=torch.float32)
        e = torch.as_tensor(g["edges"], dtype=torch.long).reshape(-1, 2).t()
        e = torch.cat([e, e.flip(0)], 1)
        out.append((x, e, float(g["y"])))
    return out


def merge(graphs):
    xs, es, ids, ys, off = [], [], [], [], 0
    for k, (x, e, y) in enumerate(graphs):
        xs.append(x)
        es.append(e + off)
        ids.append(torch.full((x.size(0),), k, dtype=torch.long))
        ys.append(y)
        off += x.size(0)
    return torch.cat(xs), torch.cat(es, 1), torch.cat(ids), torch.tensor(ys)


class MPLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Linear(dim, dim)
        self.upd = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, h, edges):
        src, dst = edges
        m = torch.zeros_like(h).index_add_(0, dst, F.relu(self.msg(h[src])))
        return self.norm(h + self.upd(torch.cat([h, m], 1)))


class GraphRegressor(nn.Module):
    def __init__(self, n_feat, dim=64, depth=4):
        super().__init__()
        self.embed = nn.Linear(n_feat, dim)
        self.layers = nn.ModuleList([MPLayer(dim) for _ in range(depth)])
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, x, edges, gid, n_graphs):
        h = F.relu(self.embed(x))
        for layer in self.layers:
            h = layer(h, edges)
        pooled = torch.zeros(n_graphs, h.size(1)).index_add_(0, gid, h)
        return self.readout(pooled).squeeze(1)


def batches(graphs, size, shuffle):
    order = list(range(len(graphs)))
    if shuffle:
        random.shuffle(order)
    for i in range(0, len(order), size):
        yield merge([graphs[j] for j in order[i:i + size]])


def mae(model, graphs, size, mu, sd):
    model.eval()
    err = 0.0
    with torch.no_grad():
        for x, e, gid, y in batches(graphs, size, False):
            p = model(x, e, gid, len(y)) * sd + mu
            err += (p - y).abs().sum().item()
    model.train()
    return err / len(graphs)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("pkl")
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--depth", type=int, default=4)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=100)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--save", default="mp.pt")
    args = ap.parse_args()

    random.seed(0)
    torch.manual_seed(0)
    graphs = load_graphs(args.pkl)
    random.shuffle(graphs)
    n = len(graphs)
    tr, va, te = graphs[:int(.8 * n)], graphs[int(.8 * n):int(.9 * n)], graphs[int(.9 * n):]
    ys = torch.tensor([g[2] for g in tr])
    mu, sd = ys.mean().item(), ys.std().item() + 1e-8

    model = GraphRegressor(tr[0][0].size(1), args.dim, args.depth)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="min", factor=0.5, patience=5, min_lr=1e-5)

    best_va, best_te = float("inf"), float("inf")
    for ep in range(1, args.epochs + 1):
        tot = 0.0
        for x, e, gid, y in batches(tr, args.bs, True):
            y = (y - mu) / sd
            pred = model(x, e, gid, len(y))
            loss = F.mse_loss(pred, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
            tot += loss.item() * len(y)
        v = mae(model, va, args.bs, mu, sd)
        sched.step(v)
        if v < best_va:
            best_va, best_te = v, mae(model, te, args.bs, mu, sd)
            torch.save({"model": model.state_dict(), "mu": mu, "sd": sd, "args": vars(args)}, args.save)
        print(f"{ep:4d} mse {tot / len(tr):.4f} val {v:.4f} best {best_va:.4f} test@best {best_te:.4f} "
              f"lr {opt.param_groups[0]['lr']:.1e}")


if __name__ == "__main__":
    main()
