# Graph classification: how many communities does a random graph have (2, 3 or 4)?
# Dense GCN in plain PyTorch, graphs have different sizes so they are fed one by one
# and the gradient is accumulated over `graphs_per_step` of them.
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

seed = 3
n_train, n_test = 240, 90
graphs_per_step = 12
epochs = 6
lr = 5e-3
max_grad_norm = 1.0
ckpt = "gcn_last.pt"
resume = "--resume" in sys.argv

torch.manual_seed(seed)
gen = torch.Generator().manual_seed(seed)


def make_graph(k):
    n = int(torch.randint(18, 36, (1,), generator=gen))
    z = torch.arange(n) % k
    same = z[:, None] == z[None, :]
    prob = torch.where(same, 0.7, 0.05)
    upper = (torch.rand(n, n, generator=gen) < prob).float().triu(1)
    adj = upper + upper.T + torch.eye(n)
    d = adj.sum(1).rsqrt()
    adj_hat = d[:, None] * adj * d[None, :]
    deg = adj.sum(1, keepdim=True)
    tri = torch.diagonal(adj @ adj @ adj).unsqueeze(1)
    feats = torch.cat([deg / n, tri / deg ** 2, torch.randn(n, 6, generator=gen)], dim=1)
    return adj_hat, feats, torch.tensor([k - 2])


train_set = [make_graph(2 + i % 3) for i in range(n_train)]
test_set = [make_graph(2 + i % 3) for i in range(n_test)]


class GCN(nn.Module):
    def __init__(self, d_in=8, hidden=32, n_classes=3, layers=3):
        super().__init__()
        dims = [d_in] + [hidden] * layers
        self.lins = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(layers))
        self.readout = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_classes))

    def forward(self, adj, x):
        for lin, norm in zip(self.lins, self.norms):
            x = F.relu(norm(adj @ lin(x)))
        g = torch.cat([x.mean(0), x.max(0).values])
        return self.readout(g).unsqueeze(0)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=lr)
steps_total = epochs * (n_train // graphs_per_step)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=steps_total)
first_epoch = 0
if resume and os.path.exists(ckpt):
    saved = torch.load(ckpt)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    scheduler.load_state_dict(saved["scheduler"])
    first_epoch = saved["epoch"] + 1
    print("resuming at epoch", first_epoch)


def test():
    model.eval()
    with torch.no_grad():
        hits = [(model(a, x).argmax(1) == y).item() for a, x, y in test_set]
    return sum(hits) / len(hits)


for epoch in range(first_epoch, epochs):
    model.train()
    epoch_loss = 0.0
    order = torch.randperm(n_train).tolist()
    for start in range(0, n_train, graphs_per_step):
        chunk = order[start:start + graphs_per_step]
        optimizer.zero_grad()
        for j in chunk:
            adj, x, y = train_set[j]
            loss = F.cross_entropy(model(adj, x), y) / len(chunk)
            loss.backward()
            epoch_loss += loss.item() * len(chunk)
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        scheduler.step()
    acc = test()
    print(f"epoch {epoch}: loss {epoch_loss / n_train:.4f}  test acc {acc:.3f}  lr {scheduler.get_last_lr()[0]:.4f}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "epoch": epoch}, ckpt)
