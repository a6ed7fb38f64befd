import torch
from torch.optim.lr_scheduler import LambdaLR

accumulation_steps = 4
batches = len(train_loader)
updates = num_epochs * ((batches + accumulation_steps - 1) // accumulation_steps)
scheduler = LambdaLR(optimizer, lambda step: max(0.0, 1.0 - step / updates))

global_step = 0
for epoch in range(num_epochs):
    iterator = iter(train_loader)
    remaining = batches
    while remaining > 0:
        size = min(accumulation_steps, remaining)
        optimizer.zero_grad()
        for _ in range(size):
            x, y = next(iterator)
            loss = criterion(model(x), y)
            (loss / size).backward()
        optimizer.step()
        scheduler.step()
        global_step += 1
        remaining -= size
assert global_step == updates
