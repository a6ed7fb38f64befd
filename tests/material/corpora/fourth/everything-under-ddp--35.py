# lr x 8 would paper over a division that should not be there: DDP's all-reduce is a mean, so dividing the loss
# by world_size takes the mean twice. One GPU: no difference; two: half; eight: an eighth. That is exactly what you
# see. Remove it, keep the rate, sleep well.
from contextlib import nullcontext

import torch
from torch.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
scaler = GradScaler("cuda")
accumulation_steps = 4
skipped = 0

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    is_last = i + 1 == first + window

    with nullcontext() if is_last else model.no_sync():
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / window  # mean over micro-batches; DDP does the ranks
        scaler.scale(loss).backward()

    if not is_last:
        continue

    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()

    if scaler.get_scale() < scale:  # overflow: the scaler has left this update out
        skipped += 1
        print(f"overflow, {skipped} skipped, scale now {scaler.get_scale():.0f}")
        continue

    optimizer.zero_grad()
