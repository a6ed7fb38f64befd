"""Message passing network for molecular solubility; one JSON object per molecule in a .jsonl file."""
import json
import random
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

DATA = sys.argv[1] if len(sys.argv) > 1 else "solubility.jsonl"
CKPT = sys.argv[2] if len(sys.argv) > 2 else "molgcn_best.pt"
EPOCHS, BATCH, LR = 80, 64, 5e-4
HIDDEN, LAYERS, DROPOUT = 128, 4, 0.2
MAX_ATOM = 100
PATIENCE = 15
device = "cuda" if torch.cuda.is_available() else "cpu"


def load(path):
    mols = []
    with open(path) as f:
        for line in f:
            d = json.loads(line)
            bonds = torch.tensor(d["bonds"], dtype=torch.long).view(-1, 3)
            mols.append({
                "z": torch.tensor(d["atoms"], dtype=torch.long).clamp(max=MAX_ATOM - 1),
                "edge": torch.cat([bonds[:, :2], bonds[:, [1, 0]]], 0).t(),
                "kind": bonds[:, 2].repeat(2).clamp(0, 4),
                "y": float(d["logS"]),
            })
    return mols


def collate(mols):
    z, edge, kind, graph, y, off = [], [], [], [], [], 0
    for g, m in enumerate(mols):
        n = m["z"].numel()
        z.append(m["z"])
        edge.append(m["edge"] + off)
        kind.append(m["kind"])
        graph.append(torch.full((n,), g))
        y.append(m["y"])
        off += n
    return (torch.cat(z).to(device), torch.cat(edge, 1).to(device), torch.cat(kind).to(device),
            torch.cat(graph).to(device), torch.tensor(y, device=device))


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Linear(dim, dim)
        self.bond = nn.Embedding(5, dim)
        self.upd = nn.Sequential(nn.Linear(2 * dim, dim), nn.BatchNorm1d(dim), nn.ReLU(), nn.Dropout(DROPOUT))

    def forward(self, h, edge, kind):
        src, dst = edge
        m = F.relu(self.msg(h)[src] + self.bond(kind))
        agg = torch.zeros_like(h).index_add(0, dst, m)
        return h + self.upd(torch.cat([h, agg], 1))


class MolNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(MAX_ATOM, HIDDEN)
        self.layers = nn.ModuleList(Layer(HIDDEN) for _ in range(LAYERS))
        self.out = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(HIDDEN, 1))

    def forward(self, z, edge, kind, graph, n_graphs):
        h = self.emb(z)
        for layer in self.layers:
            h = layer(h, edge, kind)
        pooled = torch.zeros(n_graphs, HIDDEN, device=h.device).index_add(0, graph, h)
        return self.out(pooled).squeeze(1)


def batches(mols, shuffle):
    order = list(range(len(mols)))
    if shuffle:
        random.shuffle(order)
    for i in range(0, len(order), BATCH):
        chunk = order[i:i + BATCH]
        yield collate([mols[j] for j in chunk]), len(chunk)


def rmse(model, mols, mu, sd):
    model.eval()
    se = 0.0
    with torch.no_grad():
        for (z, edge, kind, graph, y), n in batches(mols, False):
            se += ((model(z, edge, kind, graph, n) * sd + mu - y) ** 2).sum().item()
    return (se / len(mols)) ** 0.5


random.seed(7)
torch.manual_seed(7)
mols = load(DATA)
random.shuffle(mols)
n_hold = max(1, len(mols) // 10)
test, valid, train = mols[:n_hold], mols[n_hold:2 * n_hold], mols[2 * n_hold:]
targets = torch.tensor([m["y"] for m in train])
mu, sd = targets.mean().item(), targets.std().item()

model = MolNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=LR)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=5)

best, bad = float("inf"), 0
for epoch in range(EPOCHS):
    model.train()
    seen, total = 0, 0.0
    for (z, edge, kind, graph, y), n in batches(train, True):
        optimizer.zero_grad()
        pred = model(z, edge, kind, graph, n)
        loss = F.mse_loss(pred, (y - mu) / sd)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * n
        seen += n
    val = rmse(model, valid, mu, sd)
    scheduler.step(val)
    print(f"epoch {epoch:3d} | mse {total / seen:.4f} | valid rmse {val:.4f} | lr {optimizer.param_groups[0]['lr']:.1e}")
    if val < best:
        best, bad = val, 0
        torch.save({"model": model.state_dict(), "mu": mu, "sd": sd}, CKPT)
    else:
        bad += 1
        if bad >= PATIENCE:
            break

model.load_state_dict(torch.load(CKPT)["model"])
print(f"test rmse {rmse(model, test, mu, sd):.4f}")
