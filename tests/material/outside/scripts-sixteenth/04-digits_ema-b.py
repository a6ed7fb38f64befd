#!/usr/bin/env python
"""Tiny CNN on 8x8 digits, evaluated with an exponential moving average of the weights."""
import argparse
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn, optim
import torch.nn.functional as F


class EMA:
    """Exponential moving average of the trainable parameters.

    ema = EMA(model, 0.98)
    ... opt.step(); ema.update()
    with ema.average_parameters(): evaluate(model)
    """

    def __init__(self, model, decay):
        self.model = model
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def update(self):
        d = self.decay
        for n, p in self.model.named_parameters():
            if n in self.shadow:
                self.shadow[n].mul_(d).add_(p.detach(), alpha=1 - d)

    @contextmanager
    def average_parameters(self):
        backup = {n: p.detach().clone() for n, p in self.model.named_parameters() if n in self.shadow}
        self._copy(self.shadow)
        try:
            yield
        finally:
            self._copy(backup)

    @torch.no_grad()
    def _copy(self, src):
        for n, p in self.model.named_parameters():
            if n in src:
                p.copy_(src[n])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.n1 = nn.GroupNorm(3, 12)
        self.n2 = nn.GroupNorm(4, 24)
        self.fc = nn.Linear(24 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.n1(self.c1(x))), 2)
        x = F.max_pool2d(F.relu(self.n2(self.c2(x))), 2)
        return self.fc(x.flatten(1))


def load_digits(path):
    z = np.load(path)
    x = torch.from_numpy(z["images"]).float().div_(255).sub_(0.5).unsqueeze(1)
    y = torch.from_numpy(z["labels"])
    return x[:700], y[:700], x[700:], y[700:]


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--decay", type=float, default=0.98)
    p.add_argument("--bs", type=int, default=32)
    a = p.parse_args()

    xtr, ytr, xte, yte = load_digits(a.data)
    model = Net()
    opt = optim.SGD(model.parameters(), lr=a.lr, momentum=0.9, nesterov=True)
    ema = EMA(model, a.decay)
    model.train()
    for epoch in range(a.epochs):
        perm = torch.randperm(len(xtr))
        tot = 0.0
        for k in range(0, len(perm), a.bs):
            b = perm[k:k + a.bs]
            loss = F.cross_entropy(model(xtr[b]), ytr[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update()
            tot += loss.item() * len(b)
        raw = accuracy(model, xte, yte)
        with ema.average_parameters():
            avg = accuracy(model, xte, yte)
        wnorm = sum(q.pow(2).sum() for q in model.parameters()).sqrt().item()
        print(f"epoch {epoch}: loss {tot / len(xtr):.4f}  acc {raw:.3f}  ema acc {avg:.3f}  |w| {wnorm:.2f}")


if __name__ == "__main__":
    main()
