"""Accumulate SUMS of losses over real rows; normalise the gradient once, by the window's count."""
import torch
import torch.nn.functional as F

accumulation_steps = 4
num_batches = len(train_loader)
real_rows = 0.0

optimizer.zero_grad()
for i, (data, target, mask) in enumerate(train_loader, start=1):
    output = model(data)
    losses = F.cross_entropy(output, target, reduction="none")
    (losses * mask).sum().backward()
    real_rows += mask.sum().item()

    if i % accumulation_steps == 0 or i == num_batches:
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.div_(real_rows)
        optimizer.step()
        optimizer.zero_grad()
        real_rows = 0.0
