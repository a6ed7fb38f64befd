"""DP-SGD written out: clip every sample's gradient, sum, add noise, average."""
import math

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)

N, DIM, LOT, EPOCHS = 512, 14, 32, 3
CLIP, SIGMA, LR, DELTA = 1.0, 0.6, 0.3, 1e-5


def records(n):
    """Synthetic census-like table."""
    age = rng.integers(18, 80, n)
    hours = rng.normal(38, 10, n)
    edu = rng.integers(0, 8, n)
    noise = rng.normal(size=(n, DIM - 11))
    x = np.concatenate([((age - 45) / 18)[:, None], ((hours - 38) / 10)[:, None], np.eye(8)[edu],
                        ((edu - 4) * (hours - 38) / 40)[:, None], noise], 1)
    logit = 0.05 * (age - 45) + 0.08 * (hours - 38) + 0.6 * (edu - 4)
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


x, y = records(N + 200)
x_train, y_train, x_test, y_test = x[:N], y[:N], x[N:], y[N:]
model = nn.Sequential(nn.Linear(DIM, 16), nn.Tanh(), nn.Linear(16, 2))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=LR)


def private_gradient(idx):
    """Sum of the clipped per-sample gradients, plus noise, over the lot size."""
    total = [torch.zeros_like(p) for p in model.parameters()]
    loss_sum, clipped = 0.0, 0
    for i in idx:
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[i:i + 1]), y_train[i:i + 1])
        loss.backward()
        norm = math.sqrt(sum(p.grad.pow(2).sum().item() for p in model.parameters()))
        factor = min(1.0, CLIP / (norm + 1e-9))
        clipped += factor < 1.0
        for t, p in zip(total, model.parameters()):
            t.add_(p.grad, alpha=factor)
        loss_sum += loss.item()
    for t in total:
        t.add_(torch.randn_like(t) * SIGMA * CLIP).div_(LOT)
    return total, loss_sum, clipped


for epoch in range(EPOCHS):
    loss_sum, clipped = 0.0, 0
    for idx in torch.randperm(N).split(LOT):
        grads, l, c = private_gradient(idx.tolist())
        for p, g in zip(model.parameters(), grads):
            p.grad = g
        optimizer.step()
        loss_sum, clipped = loss_sum + l, clipped + c
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {loss_sum / N:.4f} clipped {clipped / N:.0%} test acc {acc:.3f}")

q, steps = LOT / N, EPOCHS * N // LOT
print(f"rough epsilon (strong composition): {q * math.sqrt(steps * math.log(1 / DELTA)) / SIGMA:.2f} at delta {DELTA}")
