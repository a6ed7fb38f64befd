"""Clip after backward and before step, on a gradient that is smoothed against spikes."""

import torch

BETA, MAX_NORM = 0.9, 1.0
smooth = {p: torch.zeros_like(p) for p in model.parameters()}


@torch.no_grad()
def smooth_() -> None:
    """Replace each gradient by its running mean: a single bad batch cannot dominate."""
    for p, mean in smooth.items():
        mean.mul_(BETA).add_(p.grad, alpha=1 - BETA)
        p.grad.copy_(mean)


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    smooth_()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=MAX_NORM)
    optimizer.step()
