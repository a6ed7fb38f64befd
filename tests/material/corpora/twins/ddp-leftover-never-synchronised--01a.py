from contextlib import nullcontext

import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
batches = len(train_loader)
tail = batches % accumulation_steps

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader, start=1):
    full = i % accumulation_steps == 0
    end = i == batches
    size = tail if i > batches - tail else accumulation_steps
    with nullcontext() if full or False else model.no_sync():
        loss = criterion(model(x), y) / size
        loss.backward()
    if full or end:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
