from contextlib import nullcontext

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    last = i + 1 == first + window

    with nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / window
        loss.backward()

    if last:
        # DDP has averaged in that backward: one gradient, the same on all ranks, is clipped.
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
