import torch
import torch.nn as nn

torch.manual_seed(0)
D, K = 2, 4


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        out = torch.cat([b, a] if self.flip else [a, b], 1)
        return out, s.squeeze(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(6))

    def nll(self, x):
        ld = 0
        for l in self.layers:
            x, s = l(x)
            ld = ld + s
        logp = -0.5 * (x ** 2).sum(1) - torch.log(torch.tensor(2 * torch.pi))
        return -(logp + ld).mean()


def ring(n):
    th = 2 * torch.pi * torch.rand(n)
    r = 2 + 0.1 * torch.randn(n)
    return torch.stack([r * th.cos(), r * th.sin()], 1)


data = ring(4096)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
n_micro = 64
for epoch in range(3):
    chunks = data[torch.randperm(len(data))].chunk(n_micro)
    for k in range(0, n_micro, K):
        group = chunks[k:k + K]
        opt.zero_grad()
        total = 0.0
        for c in group:
            nll = flow.nll(c)
            (nll / len(chunks)).backward()
            total += nll.item()
        grads = [p.grad for p in flow.parameters()]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
        if norm > 5.0:
            torch._foreach_mul_(grads, (5.0 / (norm + 1e-6)).item())
        opt.step()
    print(epoch, 'nll', total / K, 'norm', norm.item())
