"""Shared trunk, two heads (age regression + sex classification), one optimizer per part."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


def synthetic(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    age = (x[:, :4].sum(1) + (x[:, 4] * x[:, 5])).unsqueeze(1) / 2
    sex = (x[:, 6:9].sum(1) > 0).long()
    return x, age, sex


def build():
    trunk = Trunk()
    heads = nn.ModuleDict({"age": nn.Linear(16, 1), "sex": nn.Linear(16, 2)})
    opts = {
        "trunk": torch.optim.Adam(trunk.parameters(), lr=3e-3),
        "age": torch.optim.Adam(heads["age"].parameters(), lr=1e-2),
        "sex": torch.optim.Adam(heads["sex"].parameters(), lr=1e-2),
    }
    return trunk, heads, opts


def train_batch(trunk, heads, opts, x, targets, weights):
    criteria = {"age": F.mse_loss, "sex": F.cross_entropy}
    for opt in opts.values():
        opt.zero_grad()

    z = trunk(x)
    logs = {}
    for task in ("age", "sex"):
        loss = weights[task] * criteria[task](heads[task](z), targets[task])
        loss.backward(retain_graph=(task == "age"))
        logs[task] = loss.item()

    for opt in opts.values():
        opt.step()
    return logs


def evaluate(trunk, heads, x, age, sex):
    with torch.no_grad():
        z = trunk(x)
        return F.mse_loss(heads["age"](z), age).item(), (heads["sex"](z).argmax(1) == sex).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(1)
    x, age, sex = synthetic(512, 0)
    val = synthetic(256, 1)
    trunk, heads, opts = build()
    for epoch in range(10):
        perm = torch.randperm(len(x))
        for i in range(0, len(x), 32):
            sel = perm[i:i + 32]
            logs = train_batch(trunk, heads, opts, x[sel], {"age": age[sel], "sex": sex[sel]}, {"age": 1.0, "sex": 0.5})
        if epoch % 3 == 0:
            mse, acc = evaluate(trunk, heads, *val)
            print(f"{epoch}: {logs}  val age mse {mse:.4f}  sex acc {acc:.3f}")
