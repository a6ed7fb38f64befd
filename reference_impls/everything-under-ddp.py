from contextlib import nullcontext

import torch
from torch.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
scaler = GradScaler("cuda")
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    last = i + 1 == first + window

    # Forward and backward of all but the last micro-batch stay on this rank.
    with nullcontext() if last else model.no_sync():
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / window  # DDP takes the mean over ranks
        scaler.scale(loss).backward()

    if last:
        # By now every rank holds the same scaled average: unscale it, clip it, step, once each.
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
