from contextlib import nullcontext

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    # The epoch can end in a short window: it has a last micro-batch too, and that one synchronises.
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    last = i + 1 == first + window

    # DDP decides in forward whether the coming backward synchronises: both go inside.
    with nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / window
        loss.backward()

    if last:
        # The gradient is the ranks' average by now, so all of them clip the same one.
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
