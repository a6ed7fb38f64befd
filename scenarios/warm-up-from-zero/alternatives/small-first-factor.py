# A ramp from a thousandth of the rate: small, and still an update.
import torch
from torch.optim.lr_scheduler import LinearLR

accumulation_steps = 4
scheduler = LinearLR(optimizer, start_factor=1e-3, total_iters=5)
batches = []
for epoch in range(num_epochs):
    for batch in train_loader:
        batches.append(batch)
        if len(batches) < accumulation_steps:
            continue
        optimizer.zero_grad()
        for x, y in batches:
            criterion(model(x), y).div(accumulation_steps).backward()
        optimizer.step()
        scheduler.step()
        batches = []
