import csv
import os
import torch
from torch import nn


class SAM:
    """Sharpness aware minimisation around any base optimizer."""

    def __init__(self, base, rho=0.05):
        self.base, self.rho = base, rho
        self.moved = []

    def _params(self):
        for group in self.base.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield p

    @torch.no_grad()
    def ascend(self):
        ps = list(self._params())
        norm = torch.stack([p.grad.norm() for p in ps]).norm() + 1e-12
        self.moved = []
        for p in ps:
            e = p.grad * (self.rho / norm)
            p.add_(e)
            self.moved.append((p, e))

    @torch.no_grad()
    def descend(self):
        for p, e in self.moved:
            p.sub_(e)
        self.moved = []
        self.base.step()
        self.base.zero_grad()


def read(path):
    with open(path, newline="") as f:
        r = csv.reader(f)
        head = next(r)
        a = torch.tensor([[float(c) for c in row] for row in r])
    return a[:, :-1], a[:, -1:], head


torch.set_num_threads(1)
torch.manual_seed(6)
x, y, head = read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "sensors.csv"))
tr, te = slice(0, 450), slice(450, None)
x = (x - x[tr].mean(0)) / x[tr].std(0)
net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
crit = nn.BCEWithLogitsLoss()
sam = SAM(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), rho=0.1)
print("features:", ", ".join(head[:-1]))

xt, yt = x[tr], y[tr]
for epoch in range(1, 11):
    net.train()
    for idx in torch.randperm(len(xt)).split(45):
        crit(net(xt[idx]), yt[idx]).backward()
        sam.ascend()
        crit(net(xt[idx]), yt[idx]).backward()
        sam.descend()
    if epoch % 2 == 0:
        net.eval()
        with torch.no_grad():
            o = net(x[te])
            print(f"epoch {epoch} loss {crit(o, y[te]).item():.4f} acc {((o > 0) == (y[te] > 0.5)).float().mean().item():.3f}")
