"""Accumulation over padded micro-batches; every real sample weighs the same."""

import torch.nn.functional as F

ACCUMULATION_STEPS = 4


def backward_window(window):
    """Backward of each micro-batch, divided by the window's real samples."""
    for data, target, mask in window:
        num_real = mask.sum()
    for data, target, mask in window:
        losses = F.cross_entropy(model(data), target, reduction="none")
        ((losses * mask).sum() / num_real / len(window)).backward()


window = []
for batch in train_loader:
    window.append(batch)
    if len(window) == ACCUMULATION_STEPS:
        optimizer.zero_grad()
        backward_window(window)
        optimizer.step()
        window.clear()
