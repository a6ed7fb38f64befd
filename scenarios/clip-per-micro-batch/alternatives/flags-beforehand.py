# Which batch ends a window, and how many batches that window has, is written down before the loop.
import torch

accumulation_steps = 4
n = len(train_loader)
ends = [i == n - 1 or i % accumulation_steps == accumulation_steps - 1 for i in range(n)]
sizes = [min(accumulation_steps, n - i // accumulation_steps * accumulation_steps) for i in range(n)]

optimizer.zero_grad()
for (x, y), end, size in zip(train_loader, ends, sizes):
    loss = criterion(model(x), y) / size
    loss.backward()
    if end:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
