import torch
from torch.optim.lr_scheduler import ConstantLR, LinearLR, SequentialLR

accumulation_steps = 4
warmup_updates = 5

warm = LinearLR(optimizer, start_factor=1 / warmup_updates, end_factor=1.0, total_iters=warmup_updates - 1)
flat = ConstantLR(optimizer, factor=1.0, total_iters=0)
schedule = SequentialLR(optimizer, [warm, flat], milestones=[warmup_updates])

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        begin = i - i % accumulation_steps
        size = min(accumulation_steps, len(train_loader) - begin)
        loss = criterion(model(x), y) / size
        loss.backward()
        if i == begin + size - 1:
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
