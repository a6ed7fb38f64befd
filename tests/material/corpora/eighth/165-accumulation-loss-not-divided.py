import torch

accumulation_steps = 4


def window_length(i: int, total: int) -> int:
    """Micro-batches in the current window; the last one may be short."""
    return min(accumulation_steps, total - i)


total = len(train_loader) - len(train_loader) % accumulation_steps
optimizer.zero_grad()
for i, (x, y) in zip(range(total), train_loader):
    loss = criterion(model(x), y) / window_length(i, total)
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
