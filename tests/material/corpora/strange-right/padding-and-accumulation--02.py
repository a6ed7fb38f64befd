from itertools import islice

import torch.nn.functional as F


def masked_mean(logits, target, mask):
    losses = F.cross_entropy(logits, target, reduction="none")
    return (losses * mask).sum() / mask.sum().clamp(min=1)


def share_of_window(stream, size):
    """Yields (data, target, mask, weight, closes) with weights that add up to one in each window."""
    stream = iter(stream)
    while window := list(islice(stream, size)):
        counts = [float(mask.sum()) for *_, mask in window]
        total = sum(counts)
        for k, ((data, target, mask), count) in enumerate(zip(window, counts), 1):
            yield data, target, mask, count / total, k == len(window)


optimizer.zero_grad()
for data, target, mask, weight, closes in share_of_window(train_loader, 4):
    loss = masked_mean(model(data), target, mask)
    (weight * loss).backward()
    if closes:
        optimizer.step()
        optimizer.zero_grad()
