# Stated objective: every micro-batch weighs the same. Mean inside, number of micro-batches outside.
import torch.nn.functional as F

accumulation_steps = 4
total = len(train_loader)

optimizer.zero_grad()
for i, (data, target, mask) in enumerate(train_loader):
    in_window = min(accumulation_steps, total - (i - i % accumulation_steps))
    per_row = F.cross_entropy(model(data), target, reduction="none")
    loss = (per_row * mask).sum() / mask.sum().clamp(min=1)
    (loss / in_window).backward()
    if (i + 1) % accumulation_steps == 0 or i + 1 == total:
        optimizer.step()
        optimizer.zero_grad()
