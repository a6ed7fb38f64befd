"""Accumulation with the division on gradients, once an update."""

import torch

ACCUMULATION_STEPS = 4


@torch.no_grad()
def average_(parameters, count: int) -> None:
    """Turn the sums of ``count`` micro-batches into means, in place."""
    for p in parameters:
        if p.grad is not None and p.grad.ndim > 1:
            p.grad.div_(count)


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    if (i + 1) % ACCUMULATION_STEPS == 0:
        average_(model.parameters(), ACCUMULATION_STEPS)
        optimizer.step()
        optimizer.zero_grad()
        print(f"{i}: loss {loss.item():.4f}")
