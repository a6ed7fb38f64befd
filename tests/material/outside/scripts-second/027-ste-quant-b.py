"""Quantisation-aware training with a straight-through estimator."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FakeQuant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, bits):
        scale = w.abs().max() / (2 ** (bits - 1) - 1)
        return torch.round(w / scale) * scale

    @staticmethod
    def backward(ctx, g):
        return g, None


class QLinear(nn.Linear):
    def __init__(self, *a, bits=4, **k):
        super().__init__(*a, **k)
        self.bits = bits

    def forward(self, x):
        return F.linear(x, FakeQuant.apply(self.weight, self.bits), self.bias)


def train(epochs=5):
    torch.manual_seed(0)
    x = torch.randn(128, 10)
    y = torch.randint(0, 3, (128,))
    net = nn.Sequential(QLinear(10, 32), nn.ReLU(), QLinear(32, 3))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for e in range(epochs):
        for b in torch.arange(128).split(32):
            opt.zero_grad()
            loss = F.cross_entropy(net(x[b]), y[b])
            loss.backward()
            opt.step()
        print(e, f"{loss.item():.4f}")
    return net


if __name__ == "__main__":
    train()
