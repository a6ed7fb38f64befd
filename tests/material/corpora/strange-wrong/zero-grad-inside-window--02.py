"""Accumulation as a running mean of the micro-batches' gradients."""

import torch

STEPS = 4
parameters = list(model.parameters())
mean = [torch.zeros_like(p) for p in parameters]


@torch.no_grad()
def add_to_mean(k: int) -> None:
    """mean += (gradient - mean) / n"""
    for m, p in zip(mean, parameters):
        m += (p.grad - m) / STEPS


for i, (x, y) in enumerate(train_loader):
    model.zero_grad()
    criterion(model(x), y).backward()
    add_to_mean(i % STEPS)

    if (i + 1) % STEPS == 0:
        for m, p in zip(mean, parameters):
            p.grad = m.clone()
            m.zero_()
        optimizer.step()
        optimizer.zero_grad()
