import contextlib

import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % accumulation_steps == 0
    with contextlib.nullcontext() if i % accumulation_steps == 0 else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    if last:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
