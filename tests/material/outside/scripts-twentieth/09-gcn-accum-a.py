import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = dict(
    n_graphs=480,
    hidden=32,
    lr=0.05,
    epochs=8,
    accum=8,
    graphs_per_batch=4,
    max_grad_norm=0.25,
    seed=11,
)


def random_graph():
    """class 1: two communities, class 0: no structure"""
    n = int(torch.randint(12, 24, (1,)))
    label = int(torch.rand(1) < 0.5)
    prob = torch.full((n, n), 0.3)
    if label:
        half = n // 2
        prob[:half, :half] = prob[half:, half:] = 0.6
        prob[:half, half:] = prob[half:, :half] = 0.03
    adj = torch.triu((torch.rand(n, n) < prob).float(), 1)
    adj = adj + adj.t() + torch.eye(n)
    deg = adj.sum(1)
    norm = adj / torch.sqrt(deg[:, None] * deg[None, :])
    triangles = ((adj @ adj) * adj).sum(1)
    feats = torch.stack([deg / n, triangles / deg ** 2, torch.ones(n)], dim=1)
    feats[:, :2] = 10 * (feats[:, :2] - 0.5)
    return norm, feats, label


class GCN(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.lin1 = nn.Linear(n_in, hidden)
        self.lin2 = nn.Linear(hidden, hidden)
        self.readout = nn.Linear(2 * hidden, n_out)

    def forward(self, adj, x):
        x = F.relu(self.lin1(adj @ x))
        x = F.relu(self.lin2(adj @ x))
        return self.readout(torch.cat([x.mean(0), x.max(0).values]))


def batch_loss(model, graphs):
    logits = torch.stack([model(a, x) for a, x, _ in graphs])
    labels = torch.tensor([lab for _, _, lab in graphs])
    return F.cross_entropy(logits, labels)


def train_one_epoch(model, optimizer, graphs):
    model.train()
    order = torch.randperm(len(graphs)).split(cfg["graphs_per_batch"])
    running = 0.0
    optimizer.zero_grad()
    for i, idx in enumerate(order):
        loss = batch_loss(model, [graphs[j] for j in idx.tolist()])
        (loss / cfg["accum"]).backward()
        running += loss.item()
        if (i + 1) % cfg["accum"] == 0:
            nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
            optimizer.step()
            optimizer.zero_grad()
    return running / len(order)


@torch.no_grad()
def evaluate(model, graphs):
    model.eval()
    hits = sum(int(model(a, x).argmax()) == lab for a, x, lab in graphs)
    return hits / len(graphs)


torch.manual_seed(cfg["seed"])
data = [random_graph() for _ in range(cfg["n_graphs"])]
train_set, test_set = data[:384], data[384:]      # 384 / 4 = 96 batches = 12 * accum
model = GCN(3, cfg["hidden"], 2)
optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)

for epoch in range(cfg["epochs"]):
    loss = train_one_epoch(model, optimizer, train_set)
    print(f"epoch {epoch}  loss {loss:.4f}  test acc {evaluate(model, test_set):.3f}")
