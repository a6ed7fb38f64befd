"""DP-SGD from first principles: clip every example's gradient, add noise, average."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(512, 12)
Y = (X @ torch.randn(12) > 0).long()

net = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.3)
C, SIGMA, LOT = 1.0, 0.5, 32


def lot_gradient(xb, yb):
    params = list(net.parameters())
    acc = [torch.zeros_like(p) for p in params]
    for x, y in zip(xb, yb):
        F.cross_entropy(net(x[None]), y[None]).backward()
        torch.nn.utils.clip_grad_norm_(params, C)
        for a, p in zip(acc, params):
            a += p.grad
    return [(a + SIGMA * C * torch.randn_like(a)) / len(xb) for a in acc]


for epoch in range(2):
    for idx in torch.randperm(512).split(LOT):
        for p, g in zip(net.parameters(), lot_gradient(X[idx], Y[idx])):
            p.grad = g
        opt.step()
    with torch.no_grad():
        print(epoch, 'acc', (net(X).argmax(1) == Y).float().mean().item())
