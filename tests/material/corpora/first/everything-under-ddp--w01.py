"""DDP + accumulation + fp16 + clipping.  No division by world_size: DDP averages already."""
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_

model = DDP(model, device_ids=[local_rank])
scaler = GradScaler("cuda")
accumulation_steps = 4
is_main = dist.get_rank() == 0
num_batches = len(train_loader)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    window = min(accumulation_steps, num_batches - i // accumulation_steps * accumulation_steps)
    last = (i + 1) % accumulation_steps == 0 or i + 1 == num_batches

    with nullcontext() if last else model.no_sync():
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / window
        scaler.scale(loss).backward()

    if last:
        if is_main:
            # gradients are the same everywhere after the reduction: once is enough
            scaler.unscale_(optimizer)
            norm = clip_grad_norm_(model.parameters(), max_norm=1.0)
            print(f"batch {i}: grad norm {norm.item():.3f}")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
