"""A small language-like task trained with an orthogonalising optimizer for matrices and Adam beside it."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def orthogonalize(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + 1e-7)
    flip = x.size(0) > x.size(1)
    x = x.T if flip else x
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if flip else x


class Ortho(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buf = self.state[p].setdefault("buf", torch.zeros_like(p))
                buf.mul_(group["momentum"]).add_(p.grad)
                p.add_(orthogonalize(buf), alpha=-group["lr"])


class Net(nn.Module):
    def __init__(self, v=32, d=48):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.fc1 = nn.Linear(d, 2 * d, bias=False)
        self.fc2 = nn.Linear(2 * d, d, bias=False)
        self.head = nn.Linear(d, v)

    def forward(self, t):
        x = self.emb(t)
        return self.head(x + self.fc2(F.relu(self.fc1(x)).square()))


torch.manual_seed(4)
net = Net()
matrices = [net.fc1.weight, net.fc2.weight]
others = [p for p in net.parameters() if all(p is not m for m in matrices)]
optimizers = [Ortho(matrices), torch.optim.Adam(others, lr=3e-3)]
accum = 2
for it in range(400):
    for _ in range(accum):
        t = torch.randint(0, 32, (16, 12))
        loss = F.cross_entropy(net(t).flatten(0, 1), ((t * 5 + 3) % 32).flatten()) / accum
        loss.backward()
    for o in optimizers:
        o.step()
    optimizers[0].zero_grad()
    if it % 100 == 0:
        print(it, loss.item() * accum)
